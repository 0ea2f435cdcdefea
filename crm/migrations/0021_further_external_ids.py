from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crm", "0020_user_links"),
    ]

    operations = [
        migrations.AddField(
            model_name="client",
            name="further_external_ids",
            field=models.JSONField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="contact",
            name="further_external_ids",
            field=models.JSONField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="deal",
            name="further_external_ids",
            field=models.JSONField(editable=False, null=True),
        ),
    ]
