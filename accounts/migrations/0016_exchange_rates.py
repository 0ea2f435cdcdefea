from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0015_visitors")]

    operations = [
        migrations.AddField("account", "exchange_rates", models.JSONField(db_default={}, default=dict)),
        migrations.AddField("account", "exchange_rates_on", models.DateField(editable=False, null=True)),
        migrations.AddField("account", "takes_euro_rates", models.BooleanField(db_default=False, default=False)),
    ]
