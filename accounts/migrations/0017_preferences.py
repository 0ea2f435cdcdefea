from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0016_exchange_rates")]

    operations = [
        migrations.AddField("user", "preferences", models.JSONField(db_default={}, default=dict, editable=False)),
    ]
