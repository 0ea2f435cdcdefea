from django.db import migrations


class Migration(migrations.Migration):
    """The table moves to the room of accounts, whose next migration renames it."""

    dependencies = [("crm", "0004_records")]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel("FieldDefinition")]),
    ]
