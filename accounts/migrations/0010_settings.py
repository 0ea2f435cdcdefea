from django.db import migrations

INDEX = """
CREATE INDEX CONCURRENTLY member_found ON accounts_user USING gin (account_id, search_words, search_text gin_trgm_ops)
    WITH (gin_pending_list_limit = 256) WHERE role = 'member';
"""


class Migration(migrations.Migration):
    """Members are searched as the team is, by an index of their own: they may be a million.

    Beside the work of the service, so not in one transaction. If it is broken off, drop the index before it runs again.
    """

    atomic = False
    dependencies = [("accounts", "0009_compose_if_needed")]

    operations = [migrations.RunSQL(INDEX, "DROP INDEX CONCURRENTLY member_found;")]
