import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0026_branding"),
    ]

    operations = [
        migrations.AddField(
            model_name="account",
            name="resources_with_fields",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(), db_default=[], default=list, editable=False, size=None
            ),
        ),
    ]
