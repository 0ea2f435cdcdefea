from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the time at which a member was blocked. No member is blocked yet, and the nullable column rewrites no rows."""

    dependencies = [("accounts", "0006_name_keys")]

    operations = [migrations.AddField("user", "blocked_at", models.DateTimeField(editable=False, null=True))]
