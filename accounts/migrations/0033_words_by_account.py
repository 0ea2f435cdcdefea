from django.db import migrations, models

from core.search.declaration import ReplaceSearch, Search
from core.search.functions import CREATE_PARTS, CREATE_WORDS_BY_ACCOUNT, DROP_PARTS, DROP_WORDS_BY_ACCOUNT


class Migration(migrations.Migration):
    """Begin each lexeme with the account. This rewrites the tables.

    Until the new version of the service runs, searches find only parts of the short fields.
    """

    # So that no table is held while others wait to write.
    atomic = False
    dependencies = [("accounts", "0032_id_counters")]

    operations = [
        migrations.RunSQL(CREATE_WORDS_BY_ACCOUNT, DROP_WORDS_BY_ACCOUNT),
        # The new search indexes call this function.
        migrations.RunSQL(CREATE_PARTS, DROP_PARTS),
        ReplaceSearch("group", Search(condition=models.Q(), name="group_search", name_field="name")),
        ReplaceSearch(
            "user",
            Search(
                condition=models.Q(("role__in", ("owner", "admin", "agent"))),
                long=("description",),
                more_indexes={"member": models.Q(("role", "member"))},
                name="user_search",
                name_field="name",
                short=("login", "email"),
            ),
        ),
        ReplaceSearch("pipeline", Search(condition=models.Q(), name="pipeline_search", name_field="name")),
        ReplaceSearch("status", Search(condition=models.Q(), name="status_search", name_field="name", short=("code",))),
    ]
