from django.db import migrations

from core.db.tenancy import composite_foreign_key, id_triggers


class Migration(migrations.Migration):
    dependencies = [("forum", "0001_initial"), ("accounts", "0002_tenancy"), ("crm", "0002_tenancy")]

    operations = [
        *id_triggers("forum_forum", "forum_category", "forum_post", "forum_comment"),
        composite_foreign_key("forum_forum", "host_id", "accounts_host"),
        composite_foreign_key("forum_category", "forum_id", "forum_forum", on_delete="CASCADE"),
        composite_foreign_key("forum_post", "forum_id", "forum_forum"),
        composite_foreign_key("forum_post", "category_id", "forum_category"),
        composite_foreign_key("forum_post", "status_id", "accounts_status"),
        composite_foreign_key("forum_post", "duplicate_from_id", "forum_post", on_delete="SET NULL"),
        composite_foreign_key("forum_post", "client_id", "crm_client", on_delete="SET NULL"),
        composite_foreign_key("forum_post", "trashed_client_id", "crm_client", on_delete="SET NULL"),
        *(
            composite_foreign_key("forum_post", column, "accounts_user")
            for column in ("user_id", "responsible_id", "response_user_id", "trashed_by_id")
        ),
        composite_foreign_key("forum_comment", "post_id", "forum_post", on_delete="CASCADE"),
        composite_foreign_key("forum_comment", "user_id", "accounts_user"),
        composite_foreign_key("forum_vote", "post_id", "forum_post", on_delete="CASCADE"),
        composite_foreign_key("forum_vote", "user_id", "accounts_user"),
    ]
