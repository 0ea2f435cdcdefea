from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations


class Migration(migrations.Migration):
    """Remove the indexes by which the last activity was computed from posts. It is computed from the timeline."""

    atomic = False
    dependencies = [("forum", "0004_existing_members")]

    operations = [
        RemoveIndexConcurrently("postsortkey", f"sort_key_of_{target}") for target in ("client", "contact", "deal")
    ]
