from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0017_declare_search")]

    operations = [
        migrations.AddField(
            model_name="user", name="shows_votes", field=models.BooleanField(db_default=False, default=False)
        ),
    ]
