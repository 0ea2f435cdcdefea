from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="account",
            name="files_quota",
            field=models.BigIntegerField(editable=False, null=True),
        ),
    ]
