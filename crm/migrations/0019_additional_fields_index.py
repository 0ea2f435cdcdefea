from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations
from django.db.models import Q


class Migration(migrations.Migration):
    # So that rows can be written while the indexes are built.
    atomic = False
    dependencies = [("crm", "0018_stages_by_time")]

    operations = [
        AddIndexConcurrently(
            model,
            GinIndex(
                fields=["account", "additional_fields"],
                name=f"{model}_by_additional_fields",
                opclasses=["int8_ops", "jsonb_path_ops"],
                gin_pending_list_limit=256,
                condition=Q(trashed_at=None) & ~Q(additional_fields={}),
            ),
        )
        for model in ("client", "contact", "deal")
    ]
