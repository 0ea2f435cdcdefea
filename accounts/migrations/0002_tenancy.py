from django.db import migrations

from core.db.tenancy import composite_foreign_key, id_triggers

# Each account had a sequence, until 0032_id_counters.
CREATE_IDS = """
CREATE SCHEMA account_ids;

CREATE FUNCTION account_ids.open() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE SEQUENCE account_ids.%I', 'a' || NEW.id);
    RETURN NULL;
END $$;

CREATE FUNCTION account_ids.close() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('DROP SEQUENCE IF EXISTS account_ids.%I', 'a' || OLD.id);
    RETURN NULL;
END $$;

CREATE FUNCTION account_ids.take() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := nextval('account_ids.a' || NEW.account_id);
    RETURN NEW;
END $$;

CREATE TRIGGER open_ids AFTER INSERT ON accounts_account FOR EACH ROW EXECUTE FUNCTION account_ids.open();
CREATE TRIGGER close_ids AFTER DELETE ON accounts_account FOR EACH ROW EXECUTE FUNCTION account_ids.close();
"""

DROP_IDS = """
DROP TRIGGER close_ids ON accounts_account;
DROP TRIGGER open_ids ON accounts_account;
DROP SCHEMA account_ids CASCADE;
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [
        migrations.RunSQL(CREATE_IDS, DROP_IDS),
        *id_triggers("accounts_user", "accounts_apitoken", "accounts_status", "accounts_tag"),
        composite_foreign_key("accounts_apitoken", "user_id", "accounts_user", on_delete="CASCADE"),
        composite_foreign_key("accounts_tagcount", "tag_id", "accounts_tag", on_delete="CASCADE"),
    ]
