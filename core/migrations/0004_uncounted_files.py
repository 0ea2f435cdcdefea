from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("core", "0003_files")]

    operations = [
        migrations.AddField("storedfile", "is_counted", models.BooleanField(db_default=True, default=True)),
        AddIndexConcurrently(
            model_name="storedfile",
            index=models.Index(
                fields=["account", "expires_at"], include=("size", "is_counted"), name="storedfile_space"
            ),
        ),
        RemoveIndexConcurrently(model_name="storedfile", name="storedfile_sizes"),
    ]
