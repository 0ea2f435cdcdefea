from django.db import migrations, models
from django.db.models import Q

from core.search.operations import add_search


class Migration(migrations.Migration):
    dependencies = [("forum", "0003_changes"), ("accounts", "0005_search")]

    operations = [
        *(
            migrations.AddIndex(
                "post",
                models.Index(
                    fields=["account", *fields],
                    name=f"{kind}_by_{order}",
                    condition=Q(trashed_at=None, category_id__isnull=is_task),
                ),
            )
            for kind, is_task in (("any_post", False), ("task", True))
            for order, fields in (("id", ["id"]), ("creation", ["created_at", "id"]), ("change", ["updated_at", "id"]))
        ),
        add_search(
            "forum_post",
            name="title",
            long=("content", "response"),
            filters=("category_id", "forum_id", "status_id", "responsible_id", "user_id", "tags"),
        ),
    ]
