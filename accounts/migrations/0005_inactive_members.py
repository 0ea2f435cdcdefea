from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_user_erased_at")]

    operations = [
        migrations.AddField("account", "inactive_member_months", models.SmallIntegerField(null=True)),
        migrations.AddField("user", "erasure_notice_at", models.DateTimeField(editable=False, null=True)),
    ]
