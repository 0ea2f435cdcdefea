import django.db.models.deletion
from django.db import migrations, models

from core.db.tenancy import plan_for_large_accounts


class Migration(migrations.Migration):
    """The accent colour and the logo of an account, for e-mails."""

    dependencies = [("accounts", "0025_notified_of_all")]

    operations = [
        migrations.CreateModel(
            name="Branding",
            fields=[
                (
                    "account",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="branding",
                        serialize=False,
                        to="accounts.account",
                    ),
                ),
                ("accent", models.CharField(default="#5f55e8", max_length=255)),
                ("logo", models.BinaryField(null=True)),
                ("logo_key", models.CharField(max_length=255, null=True)),
            ],
        ),
        *plan_for_large_accounts("accounts_branding"),
    ]
