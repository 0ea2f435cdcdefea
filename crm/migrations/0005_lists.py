from django.db import migrations, models
from django.db.models import Q

from core.search.operations import add_search

EXTERNAL_IDS = "jsonb_path_query_array(external_ids, '$.*')::text"
PERSON = ("first_name", "last_name", "email")


class Migration(migrations.Migration):
    dependencies = [("crm", "0004_additional_fields_and_counts"), ("accounts", "0005_search")]

    operations = [
        *(
            migrations.AddIndex(
                model,
                models.Index(fields=["account", *fields], name=f"{model}_by_{order}", condition=Q(trashed_at=None)),
            )
            for model in ("client", "contact", "deal")
            for order, fields in (("id", ["id"]), ("creation", ["created_at", "id"]), ("change", ["updated_at", "id"]))
        ),
        add_search(
            "crm_client",
            short=(*PERSON, "shortcut", "city", "www"),
            numbers=("phone", "mobile_phone", "fax", "tax_no", "register_number"),
            words=("street", "street_no", "post_code", EXTERNAL_IDS),
            long=("note", "description"),
            filters=("status_id", "responsible_id", "creator_id", "updater_id", "tags"),
        ),
        add_search(
            "crm_contact",
            short=(*PERSON, "position"),
            numbers=("phone", "mobile_phone"),
            long=("note", "description"),
            filters=("responsible_id", "creator_id", "updater_id", "tags"),
        ),
        add_search("crm_contactlist"),
        add_search(
            "crm_deal",
            words=(EXTERNAL_IDS,),
            long=("description",),
            filters=("status_id", "responsible_id", "creator_id", "updater_id", "tags"),
        ),
    ]
