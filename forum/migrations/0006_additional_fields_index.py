import django.contrib.postgres.indexes
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("forum", "0005_answers")]

    operations = [
        AddIndexConcurrently(
            model_name="post",
            index=django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("trashed_at", None), models.Q(("additional_fields", {}), _negated=True)),
                fields=["account", "additional_fields"],
                gin_pending_list_limit=1024,
                name="post_by_additional_fields",
                opclasses=["int8_ops", "jsonb_path_ops"],
            ),
        ),
    ]
