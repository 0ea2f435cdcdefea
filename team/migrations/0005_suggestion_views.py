from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("team", "0004_move_in")]

    operations = [
        migrations.AlterField(
            "savedview",
            "resource",
            models.CharField(
                choices=[
                    ("client", "Clients"),
                    ("contact", "Contacts"),
                    ("deal", "Deals"),
                    ("task", "Tasks"),
                    ("contact_list", "Contact lists"),
                    ("suggestion", "Suggestions"),
                ],
                max_length=255,
            ),
        )
    ]
