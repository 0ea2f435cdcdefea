from django.db import migrations, models

# Move an event behind the changes that its transaction recorded before it.
FUNCTION = """
CREATE FUNCTION core_place_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE core_change SET position = nextval('core_change_positions'), at = clock_timestamp()
    WHERE account_id = NEW.account_id AND position = NEW.position;
    RETURN NULL;
END $$
"""
TRIGGER = """
CREATE CONSTRAINT TRIGGER place_event AFTER INSERT ON core_change DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (new.data IS NOT NULL) EXECUTE FUNCTION core_place_event()
"""


class Migration(migrations.Migration):
    dependencies = [("core", "0004_uncounted_files")]

    operations = [
        migrations.AlterField("change", "change", models.CharField(max_length=255)),
        migrations.AddField("change", "actor_id", models.BigIntegerField(null=True)),
        migrations.AddField("change", "data", models.JSONField(null=True)),
        migrations.RunSQL(
            [FUNCTION, TRIGGER],
            ["DROP TRIGGER place_event ON core_change", "DROP FUNCTION core_place_event"],
        ),
    ]
