"""Notes in notifications: their titles and addresses."""

from collections.abc import Mapping

from django.db.models import CharField, OuterRef, Subquery
from django.db.models.functions import Coalesce, JSONObject, Left
from django.urls import reverse

from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from crm.notes.models import Note

# The number of characters of a note that a notification may quote.
MAX_TEXT_LENGTH = 2000
# For each link of a note: its model, and the route of the page of a record, which exists for records in the trash as well.
RECORDS = {"client": (Client, "team-client"), "contact": (Contact, "team-contact"), "deal": (Deal, "team-deal")}


def details_of(column: str) -> Subquery:
    """Return the details of the note whose id is in a column. The title is the name of the client, contact or deal."""
    ids = {link: Coalesce(f"{link}_id", f"trashed_{link}_id") for link in RECORDS}
    names = [
        Subquery(model.objects.filter(account_id=OuterRef("account_id"), id=OuterRef(link)).values("name"))
        for link, (model, _route) in RECORDS.items()
    ]
    notes = Note.objects.filter(account_id=OuterRef("account_id"), id=OuterRef(column)).annotate(**ids)
    title = Coalesce(*names, output_field=CharField())
    text = Left("content", MAX_TEXT_LENGTH)
    return Subquery(notes.values(details=JSONObject(id="id", title=title, text=text, **{link: link for link in ids})))


def path_of(note: Mapping[str, object]) -> str:
    [(id, route)] = [(note[link], route) for link, (_model, route) in RECORDS.items() if note[link] is not None]
    return reverse(route, args=[id], fragment=f"note-{note['id']}")
