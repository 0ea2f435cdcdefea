from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0012_oidc"),
    ]

    operations = [
        migrations.AddField(
            model_name="oidcprovider",
            name="checked_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="oidcprovider",
            name="missing_since",
            field=models.JSONField(db_default={}, default=dict),
        ),
    ]
