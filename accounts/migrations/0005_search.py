from django.db import migrations

from core.search.functions import CREATE_FOLDING, DROP_FOLDING, EXTENSIONS
from core.search.operations import add_search


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_changes")]

    operations = [
        # All of them are trusted: whoever owns the database may create them.
        *(
            migrations.RunSQL(f"CREATE EXTENSION IF NOT EXISTS {name};", f"DROP EXTENSION IF EXISTS {name};")
            for name in EXTENSIONS
        ),
        migrations.RunSQL(CREATE_FOLDING, DROP_FOLDING),
        add_search(
            "accounts_user",
            short=("login", "email"),
            long=("description",),
            condition="{row}role IN ('owner', 'admin', 'agent')",
        ),
    ]
