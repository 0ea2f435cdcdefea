from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("forum", "0004_lists")]

    operations = [
        migrations.AddIndex(
            "post",
            models.Index(
                fields=["account", "scheduled_at"],
                name="task_by_time",
                condition=Q(trashed_at=None, category_id=None, scheduled_at__isnull=False),
            ),
        ),
    ]
