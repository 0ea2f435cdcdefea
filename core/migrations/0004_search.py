from pathlib import Path

from django.db import migrations

SQL = Path(__file__).with_suffix(".sql").read_text()


class Migration(migrations.Migration):
    """Search joined and separate words, parts of Chinese, Japanese and Korean words, and Hebrew and Arabic without points.

    A later migration of the room `workspace` computes the search columns of existing rows again.
    """

    dependencies = [("core", "0003_jobs")]

    operations = [migrations.RunSQL(SQL)]
