from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the time at which a comment was withdrawn. The nullable column rewrites no rows."""

    dependencies = [("forum", "0006_comment_approval")]

    operations = [migrations.AddField("comment", "withdrawn_at", models.DateTimeField(editable=False, null=True))]
