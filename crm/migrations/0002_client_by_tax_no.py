from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("crm", "0001_initial")]

    operations = [
        AddIndexConcurrently(
            model_name="client",
            index=models.Index(
                models.F("account"),
                models.Func(models.F("tax_no"), function="search.compact"),
                models.F("id"),
                condition=models.Q(("tax_no__isnull", False), ("trashed_at", None)),
                name="client_by_tax_no",
            ),
        ),
    ]
