import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0009_shop_sign_in"),
    ]

    operations = [
        migrations.AddField(
            model_name="apitoken",
            name="last_used_from",
            field=models.CharField(blank=True, db_default="", default="", max_length=50),
        ),
        migrations.AddField(
            model_name="apitoken",
            name="networks",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=43), blank=True, null=True, size=None
            ),
        ),
        migrations.AddField(
            model_name="apitoken",
            name="scopes",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=20), blank=True, null=True, size=None
            ),
        ),
        migrations.AddField(
            model_name="session",
            name="address",
            field=models.CharField(blank=True, db_default="", default="", max_length=50),
        ),
    ]
