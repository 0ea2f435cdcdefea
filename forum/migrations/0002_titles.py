import django.db.models.fields.json
import django.db.models.functions.text
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("forum", "0001_initial")]

    operations = [
        AddIndexConcurrently(
            model_name="post",
            index=models.Index(
                models.F("account"),
                django.db.models.functions.text.Lower("title"),
                condition=models.Q(("trashed_at", None)),
                name="post_by_title",
            ),
        ),
        AddIndexConcurrently(
            model_name="post",
            index=models.Index(
                models.F("account"),
                django.db.models.fields.json.KeyTextTransform("source_id", "additional_fields"),
                condition=models.Q(("additional_fields__has_key", "source_id")),
                name="post_by_source_id",
            ),
        ),
    ]
