from django.db import migrations, models

import core.search.declaration


class Migration(migrations.Migration):
    """Declare the search that earlier migrations built: the database does not change."""

    dependencies = [
        ("accounts", "0017_declare_search"),
        ("forum", "0012_additional_fields"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AddConstraint(
                    model_name="post",
                    constraint=core.search.declaration.Search(
                        by_account=False,
                        condition=models.Q(("trashed_at", None)),
                        filters=("category_id", "forum_id", "status_id", "responsible_id", "user_id", "tags"),
                        long=("content", "response"),
                        name="post_search",
                        name_field="title",
                    ),
                ),
            ]
        )
    ]
