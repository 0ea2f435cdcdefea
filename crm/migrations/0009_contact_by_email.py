from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    # So that contacts can be written while the index is built.
    atomic = False
    dependencies = [("crm", "0008_more_additional_fields")]

    operations = [
        AddIndexConcurrently(
            "contact",
            models.Index(
                fields=["account", "email_key", "id"],
                name="contact_by_email",
                condition=Q(email_key__isnull=False, trashed_at=None),
            ),
        ),
    ]
