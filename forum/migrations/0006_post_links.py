from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("forum", "0005_task_by_time")]

    operations = [
        migrations.AddIndex(
            "post",
            models.Index(
                fields=["account", column, "id"], name=f"post_by_{name}", condition=Q(**{f"{column}__isnull": False})
            ),
        )
        for name, column in (("original", "duplicate_from_id"), ("response", "response_user_id"))
    ]
