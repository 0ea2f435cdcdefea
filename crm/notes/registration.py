"""The registration of notes (`core.rooms`)."""

from django.utils.translation import gettext_lazy as _

from core.registry import Resource, newest_id, registry
from crm.notes.models import Note

registry.register(
    Resource(
        "note",
        Note,
        "crm.notes.api.NoteViewSet",
        label=_("Note"),
        plural_label=_("Notes"),
        icon="sticky-note",
        collection="notes",
        samples={"note": lambda request: newest_id(request.account.notes.live().accessible_to(request.user))},
    )
)
