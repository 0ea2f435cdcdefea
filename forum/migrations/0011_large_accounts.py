from django.db import migrations

from core.db.tenancy import plan_for_large_accounts

TABLES = (
    "forum_category",
    "forum_comment",
    "forum_forum",
    "forum_post",
    "forum_postcount",
    "forum_proxyvote",
    "forum_statuschange",
    "forum_vote",
)


class Migration(migrations.Migration):
    # So that no table is held while others wait to write.
    atomic = False
    dependencies = [("forum", "0010_learn_words")]

    operations = plan_for_large_accounts(*TABLES)
