from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0017_preferences"),
    ]

    operations = [
        migrations.AddField(
            model_name="account",
            name="country",
            field=models.CharField(blank=True, db_default="", default="", max_length=2),
        ),
        migrations.AddField(
            model_name="account",
            name="examples",
            field=models.JSONField(db_default={}, default=dict, editable=False),
        ),
        migrations.AddField(
            model_name="account",
            name="start_page",
            field=models.CharField(db_default="home", default="home", max_length=255),
        ),
    ]
