from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("forum", "0001_initial")]

    operations = [
        migrations.AddField("post", "due_day", models.DateField(null=True)),
    ]
