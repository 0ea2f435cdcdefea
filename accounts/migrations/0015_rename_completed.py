from django.db import migrations

# A shop plug-in takes a post status with the name of one of its shop's statuses for that one, and stops for good. An account that
# has named another post status so keeps both.
RENAME = """
    UPDATE accounts_status AS status SET name = '{after}'
    WHERE kind = 'post' AND code = 'completed' AND name = '{before}'
    AND NOT EXISTS (
        SELECT FROM accounts_status AS other
        WHERE other.account_id = status.account_id AND other.kind = 'post' AND other.name = '{after}'
    )
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0014_user_skeletons")]
    operations = [
        migrations.RunSQL(
            RENAME.format(before="Completed", after="Done"),
            RENAME.format(before="Done", after="Completed"),
        )
    ]
