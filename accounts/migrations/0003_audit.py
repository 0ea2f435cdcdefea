import django.core.serializers.json
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

# The rules of the audit log hold for every role that does not disable triggers.
RULES = """
-- Set the time of an entry, which nobody can date, and its id: the time in microseconds, or the next free id of the account.
CREATE FUNCTION accounts_begin_auditentry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.at := clock_timestamp();
    NEW.id := floor(extract(epoch FROM NEW.at) * 1000000);
    WHILE NOT pg_try_advisory_xact_lock(hashint8extended(NEW.account_id, NEW.id))
        OR EXISTS (SELECT FROM accounts_auditentry WHERE account_id = NEW.account_id AND id = NEW.id) LOOP
        NEW.id := NEW.id + 1;
    END LOOP;
    RETURN NEW;
END $$;

-- Refuse to change or delete an entry, except that it is deleted after 400 days, or with its account.
CREATE FUNCTION accounts_keep_auditentry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD.at < clock_timestamp() - interval '400 days' THEN
            RETURN OLD;
        END IF;
        IF NOT EXISTS (SELECT FROM accounts_account WHERE id = OLD.account_id) THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'entries of the audit log cannot be changed, or deleted within 400 days'
        USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE TRIGGER take_id BEFORE INSERT ON accounts_auditentry
FOR EACH ROW EXECUTE FUNCTION accounts_begin_auditentry();
CREATE TRIGGER keep_entry BEFORE UPDATE OR DELETE ON accounts_auditentry
FOR EACH ROW EXECUTE FUNCTION accounts_keep_auditentry();
CREATE TRIGGER keep_entries BEFORE TRUNCATE ON accounts_auditentry
FOR EACH STATEMENT EXECUTE FUNCTION accounts_keep_auditentry();

ALTER TABLE accounts_auditentry
ALTER COLUMN account_id SET (n_distinct=2),
ADD CONSTRAINT accounts_auditentry_account_id_fk
FOREIGN KEY (account_id) REFERENCES accounts_account (id) ON DELETE CASCADE;
"""
REMOVE_RULES = "DROP FUNCTION accounts_begin_auditentry(), accounts_keep_auditentry() CASCADE"


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_attachments")]

    operations = [
        migrations.AddField("account", "trash_days", models.SmallIntegerField(db_default=30, default=30)),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        to="accounts.account",
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ("action", models.CharField(max_length=255)),
                ("action_group", models.CharField(max_length=255)),
                (
                    "actor_kind",
                    models.CharField(
                        choices=[
                            ("user", "User"),
                            ("token", "Token"),
                            ("visitor", "Somebody who was not signed in"),
                            ("system", "The service"),
                            ("operator", "An operator of the service"),
                        ],
                        max_length=255,
                    ),
                ),
                ("actor_id", models.BigIntegerField(null=True)),
                ("actor_name", models.CharField(max_length=255)),
                ("token_label", models.CharField(max_length=255, null=True)),
                ("target_kind", models.CharField(max_length=255)),
                ("target_id", models.BigIntegerField(null=True)),
                ("target_label", models.CharField(max_length=255)),
                ("details", models.JSONField(encoder=django.core.serializers.json.DjangoJSONEncoder)),
                ("address", models.CharField(max_length=255)),
                ("agent", models.CharField(max_length=255)),
                (
                    "interface",
                    models.CharField(
                        choices=[
                            ("page", "Page"),
                            ("json", "JSON"),
                            ("xml", "XML"),
                            ("command", "Command"),
                            ("job", "Job"),
                        ],
                        max_length=255,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "audit entries",
                "db_table": "accounts_auditentry",
                "default_related_name": "audit_entries",
                "indexes": [
                    models.Index(fields=["account", "actor_id", "id"], name="audit_of_actor"),
                    models.Index(fields=["account", "action_group", "id"], name="audit_of_group"),
                    models.Index(fields=["at"], name="audit_by_time"),
                ],
            },
        ),
        migrations.RunSQL(RULES, REMOVE_RULES),
    ]
