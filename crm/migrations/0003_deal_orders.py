import datetime
from decimal import Decimal

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models.functions import Coalesce


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("crm", "0002_client_by_tax_no")]

    operations = [
        AddIndexConcurrently(
            model_name="deal",
            index=models.Index(
                models.F("account"),
                Coalesce("price", models.Value(Decimal(0))),
                models.F("id"),
                condition=models.Q(("trashed_at", None)),
                name="deal_by_price",
            ),
        ),
        AddIndexConcurrently(
            model_name="deal",
            index=models.Index(
                models.F("account"),
                Coalesce("expected_close_date", models.Value(datetime.date(9999, 12, 31))),
                models.F("id"),
                condition=models.Q(("trashed_at", None)),
                name="deal_by_closing_day",
            ),
        ),
    ]
