from django.db import migrations

from core.search.functions import COMPOSE_ALWAYS, COMPOSE_IF_NEEDED


class Migration(migrations.Migration):
    dependencies = [("accounts", "0008_pages")]

    operations = [migrations.RunSQL(COMPOSE_IF_NEEDED, COMPOSE_ALWAYS)]
