import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import core.db.tenancy
from core.db.tenancy import id_triggers, plan_for_large_accounts


class Migration(migrations.Migration):
    dependencies = [("accounts", "0018_shows_votes")]

    operations = [
        migrations.CreateModel(
            name="SignInCode",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                ("email", models.CharField(max_length=255)),
                ("browser", models.BinaryField()),
                ("digest", models.BinaryField()),
                ("attempts", models.IntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField()),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
            ],
            options={
                "default_related_name": "sign_in_codes",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "browser"), name="signincode_browser_unique")
                ],
            },
        ),
        *id_triggers("accounts_signincode"),
        *plan_for_large_accounts("accounts_signincode"),
    ]
