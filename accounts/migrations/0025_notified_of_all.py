from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """The index of the users who are notified of everything. It is built while the service writes."""

    atomic = False
    dependencies = [("accounts", "0024_notification_preferences")]

    operations = [
        AddIndexConcurrently(
            "user",
            models.Index(
                fields=["account", "id"], name="user_notified_of_all", condition=models.Q(("notification", "all"))
            ),
        ),
    ]
