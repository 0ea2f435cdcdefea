from django.contrib.postgres.indexes import GinIndex
from django.db import migrations
from django.db.models import Q

from core.search.declaration import ReplaceSearch, Search
from core.search.operations import drop_name_order

ADDITIONAL_FIELDS_INDEXES = {
    model: GinIndex(
        fields=["account", "additional_fields"],
        name=f"{model}_by_additional_fields",
        opclasses=["int8_ops", "jsonb_path_ops"],
        gin_pending_list_limit=1024,
        condition=Q(trashed_at=None) & ~Q(additional_fields={}),
    )
    for model in ("client", "contact", "deal")
}


class Migration(migrations.Migration):
    """Enlarge the pending lists of the indexes of additional fields, and remove the order of notes by name, which no list has."""

    # So that each table is locked only for a moment.
    atomic = False
    dependencies = [("crm", "0026_parts_by_account")]

    operations = [
        *(
            migrations.RunSQL(
                f"ALTER INDEX {index.name} SET (gin_pending_list_limit = 1024)",
                f"ALTER INDEX {index.name} SET (gin_pending_list_limit = 256)",
                state_operations=[migrations.RemoveIndex(model, index.name), migrations.AddIndex(model, index)],
            )
            for model, index in ADDITIONAL_FIELDS_INDEXES.items()
        ),
        migrations.SeparateDatabaseAndState(
            [drop_name_order("crm_note", "excerpt")],
            [
                ReplaceSearch(
                    "note",
                    Search(
                        condition=Q(("trashed_at", None)),
                        filters=("creator_id", "updater_id", "kind"),
                        is_ordered_by_name=False,
                        long=("content",),
                        name="note_search",
                        name_field="excerpt",
                    ),
                )
            ],
        ),
    ]
