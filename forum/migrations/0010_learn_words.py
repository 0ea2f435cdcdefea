from django.db import migrations

from core.search.operations import add_words


class Migration(migrations.Migration):
    # So that no table is held while others wait to write.
    atomic = False
    dependencies = [("forum", "0009_people_indexes"), ("accounts", "0011_words")]

    operations = [add_words(table) for table in ("forum_post",)]
