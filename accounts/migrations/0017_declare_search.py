from django.db import migrations, models

import core.search.declaration


class Migration(migrations.Migration):
    """Declare the search that earlier migrations built: the database does not change."""

    dependencies = [
        ("accounts", "0016_move_models_to_core"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AddConstraint(
                    model_name="status",
                    constraint=core.search.declaration.Search(
                        by_account=False,
                        condition=models.Q(),
                        name="status_search",
                        name_field="name",
                        short=("code",),
                    ),
                ),
                migrations.AddConstraint(
                    model_name="user",
                    constraint=core.search.declaration.Search(
                        by_account=False,
                        condition=models.Q(("role__in", ("owner", "admin", "agent"))),
                        long=("description",),
                        more_indexes={"member": models.Q(("role", "member"))},
                        name="user_search",
                        name_field="name",
                        short=("login", "email"),
                    ),
                ),
            ]
        )
    ]
