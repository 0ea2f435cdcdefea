from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # Other transactions can write while the index is built. If this migration is interrupted, drop the index before the next run.
    atomic = False
    dependencies = [("crm", "0016_notes")]

    operations = [
        AddIndexConcurrently("dealstage", models.Index(fields=["account", "entered_at"], name="deal_stage_by_time")),
    ]
