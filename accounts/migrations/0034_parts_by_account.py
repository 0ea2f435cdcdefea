from django.db import migrations

from core.search.declaration import ReplaceSearchIndexes
from core.search.functions import CREATE_PARTS


class Migration(migrations.Migration):
    """Find parts of words by trigrams of the account.

    Until the new version of the service runs, searches for parts of words are slow.
    """

    # The indexes are created beside the work of the service.
    atomic = False
    dependencies = [("accounts", "0033_words_by_account")]

    operations = [
        # For databases to which 0033 was applied before it created the function.
        migrations.RunSQL(CREATE_PARTS, migrations.RunSQL.noop),
        ReplaceSearchIndexes(),
    ]
