from django.db import migrations, models

from core.search.declaration import ReplaceSearch, Search


class Migration(migrations.Migration):
    """Begin each lexeme with the account. This rewrites the tables.

    Until the new version of the service runs, searches find only parts of the short fields.
    """

    # So that no table is held while others wait to write.
    atomic = False
    dependencies = [("accounts", "0033_words_by_account"), ("crm", "0024_positions_without_status")]

    operations = [
        ReplaceSearch(
            "client",
            Search(
                condition=models.Q(("trashed_at", None)),
                filters=("status_id", "responsible_id", "creator_id", "updater_id", "tags"),
                json_values=("external_ids",),
                long=("note", "description"),
                name="client_search",
                name_field="name",
                numbers=("phone", "mobile_phone", "fax", "tax_no", "register_number"),
                short=("first_name", "last_name", "email", "shortcut", "city", "www"),
                words=("street", "street_no", "post_code"),
            ),
        ),
        ReplaceSearch(
            "contact",
            Search(
                condition=models.Q(("trashed_at", None)),
                filters=("responsible_id", "creator_id", "updater_id", "tags"),
                json_values=("external_ids",),
                long=("note", "description"),
                name="contact_search",
                name_field="name",
                numbers=("phone", "mobile_phone"),
                short=("first_name", "last_name", "email", "position"),
            ),
        ),
        ReplaceSearch(
            "contactlist",
            Search(condition=models.Q(("trashed_at", None)), name="contactlist_search", name_field="name"),
        ),
        ReplaceSearch(
            "deal",
            Search(
                condition=models.Q(("trashed_at", None)),
                filters=("status_id", "responsible_id", "creator_id", "updater_id", "tags"),
                json_values=("external_ids",),
                long=("description",),
                name="deal_search",
                name_field="name",
            ),
        ),
        ReplaceSearch(
            "fielddefinition",
            Search(condition=models.Q(), name="fielddefinition_search", name_field="label", short=("key",)),
        ),
        ReplaceSearch(
            "note",
            Search(
                condition=models.Q(("trashed_at", None)),
                filters=("creator_id", "updater_id", "kind"),
                long=("content",),
                name="note_search",
                name_field="excerpt",
            ),
        ),
    ]
