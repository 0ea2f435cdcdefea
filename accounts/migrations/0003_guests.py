from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_domains")]

    operations = [
        # Existing accounts keep making a client for each order of a guest.
        migrations.AddField("account", "link_guests_by_email", models.BooleanField(db_default=False, default=True)),
    ]
