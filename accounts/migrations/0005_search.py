from django.db import migrations

from core.search.queries import CREATE_FUNCTIONS, DROP_FUNCTIONS, EXTENSIONS, add_search


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_changes")]

    operations = [
        # All of them are trusted: whoever owns the database may create them.
        *(
            migrations.RunSQL(f"CREATE EXTENSION IF NOT EXISTS {name};", f"DROP EXTENSION IF EXISTS {name};")
            for name in EXTENSIONS
        ),
        migrations.RunSQL(CREATE_FUNCTIONS, DROP_FUNCTIONS),
        add_search(
            "accounts_user",
            short=("login", "email"),
            long=("description",),
            tagged=False,
            live="role IN ('owner', 'admin', 'agent')",
        ),
    ]
