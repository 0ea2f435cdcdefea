from django.db import migrations

from workspace.summary_triggers import read_sort_keys


class Migration(migrations.Migration):
    """Read the last change of posts from their sort keys, before the indexes of the posts for it are removed."""

    dependencies = [("workspace", "0013_cheaper_triggers"), ("forum", "0029_sort_keys")]
    run_before = [("forum", "0030_remove_indexes")]

    operations = [read_sort_keys()]
