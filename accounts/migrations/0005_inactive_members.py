from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0004_user_erased_at"),
    ]

    operations = [
        migrations.AddField(
            model_name="account",
            name="inactive_member_months",
            field=models.SmallIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="user",
            name="erasure_notice_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
    ]
