from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("core", "0003_files")]

    operations = [
        migrations.AddField("storedfile", "is_counted", models.BooleanField(db_default=True, default=True)),
    ]
