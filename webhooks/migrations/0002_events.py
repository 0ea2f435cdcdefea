from django.db import migrations, models

FORMATS = [
    ("standard", "Standard Webhooks (JSON)"),
    ("slack", "A message for Slack, Mattermost or Discord"),
    ("teams", "A message for Microsoft Teams"),
]


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0001_initial")]

    operations = [
        migrations.AddField(
            "endpoint", "name", models.CharField(blank=True, db_default="", default="", max_length=255)
        ),
        migrations.AddField("endpoint", "skips_after", models.BigIntegerField(editable=False, null=True)),
        migrations.AddField("endpoint", "skips_to", models.BigIntegerField(editable=False, null=True)),
        migrations.AlterField(
            "endpoint", "format", models.CharField(choices=FORMATS, default="standard", max_length=255)
        ),
    ]
