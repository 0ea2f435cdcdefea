from django.db import migrations, models

from core.search.declaration import ReplaceSearch, Search


class Migration(migrations.Migration):
    """Begin each lexeme with the account. This rewrites the tables.

    Until the new version of the service runs, searches find only parts of the short fields.
    """

    # So that no table is held while others wait to write.
    atomic = False
    dependencies = [("accounts", "0033_words_by_account"), ("forum", "0026_activity_indexes")]

    operations = [
        ReplaceSearch(
            "post",
            Search(
                condition=models.Q(("trashed_at", None)),
                filters=("category_id", "forum_id", "status_id", "responsible_id", "user_id", "tags"),
                long=("content", "response"),
                name="post_search",
                name_field="title",
            ),
        ),
    ]
