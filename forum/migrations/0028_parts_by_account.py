from django.db import migrations

from core.search.declaration import ReplaceSearchIndexes


class Migration(migrations.Migration):
    """Find parts of words by trigrams of the account.

    Until the new version of the service runs, searches for parts of words are slow.
    """

    # The indexes are created beside the work of the service.
    atomic = False
    dependencies = [("accounts", "0034_parts_by_account"), ("forum", "0027_words_by_account")]

    operations = [
        ReplaceSearchIndexes(),
    ]
