from pathlib import Path

from django.db import migrations

SQL = Path(__file__).with_name("0001_functions.sql").read_text()


class Migration(migrations.Migration):
    """Create the extensions, and the functions that tables of all rooms use."""

    initial = True

    dependencies = []

    # PostgreSQL would check the functions before their tables exist.
    operations = [migrations.RunSQL("SET LOCAL check_function_bodies = off;\n" + SQL)]
