"""The duplicates of clients and contacts in the Account API (JSON)."""

from django.http import HttpResponse
from rest_framework.response import Response

from accounts.hosts.api import APIRequest
from core.api.fields import RelatedListField
from core.api.serializers import ResourceSerializer
from core.db.transactions import in_transaction
from core.errors import FieldError, FieldErrors
from core.openapi.operations import BODIES, QUERY_PARAMETERS, RESPONSES
from core.openapi.values import COUNT, ID, NAME, array_of, object_of, one_of, or_null
from crm.clients.models import Client
from crm.contacts.models import Contact
from team.duplicates.keys import KeyKind
from team.duplicates.models import MAX_ROWS, PAGE_SIZE, dismiss, find_groups, key_text, keys_in_common, read_key
from team.menu.api import TeamViewSet


class ClientDismissalSerializer(ResourceSerializer):
    """The clients that are no duplicates of one another."""

    model = Client
    is_derived = False

    client_ids = RelatedListField("clients", required=True)


class ContactDismissalSerializer(ResourceSerializer):
    """The contacts that are no duplicates of one another."""

    model = Contact
    is_derived = False

    contact_ids = RelatedListField("contacts", required=True)


DISMISSALS = {"client": ClientDismissalSerializer, "contact": ContactDismissalSerializer}


class DuplicatesViewSet(TeamViewSet):
    areas = ("clients",)
    # The resource of the route: "client" or "contact".
    resource = ""

    def retrieve(self, request: APIRequest) -> HttpResponse:
        """Return a page of groups. `next` is the value of `after` for the next page."""
        errors = self.ignore_parameters(["after"])
        text = str(self.parameters.get("after", "")).strip()
        after = read_key(text)
        if text and after is None:
            errors["after"] = FieldError("after", "is not the `next` of a page", "format")
        if errors:
            raise FieldErrors(errors.values())
        groups, following = find_groups(self.account, request.user, self.resource, after=after)
        names = ("id", "name", "email", "phone")
        return Response(
            {
                "groups": [
                    {
                        "reasons": group.reasons,
                        f"{self.resource}s": [{name: getattr(row, name) for name in names} for row in group.rows],
                    }
                    for group in groups
                ],
                "next": following and key_text(following),
            }
        )

    def dismiss(self, request: APIRequest) -> HttpResponse:
        """Say that rows are no duplicates of one another. Their keys in common are not compared until another row has one of them."""
        serializer = DISMISSALS[self.resource](data=self.body.get("duplicates"), context=self.get_serializer_context())

        def act() -> int:
            # The check locks the rows.
            self.check(duplicates=serializer)
            keys = keys_in_common(self.account, self.resource, serializer.values[f"{self.resource}_ids"])
            return dismiss(self.account, request.user, self.resource, keys)

        return Response({"dismissed": in_transaction(act)})


# The OpenAPI document, as far as views and serializers do not tell it
ROW = object_of(id=ID, name=NAME, email=or_null(NAME), phone=or_null(NAME))
AFTER = {"type": "string", "pattern": f"^({'|'.join(KeyKind.values)}):-?[0-9]{{1,19}}$"}
for key in ("client", "contact"):
    QUERY_PARAMETERS[f"read_{key}_duplicates"] = {"after": AFTER}
    rows = array_of(ROW, minItems=2, maxItems=MAX_ROWS)
    group = object_of({"reasons": array_of(one_of(KeyKind.values)), f"{key}s": rows})
    BODIES[f"dismiss_{key}_duplicates"] = {"duplicates": DISMISSALS[key]}
    RESPONSES[f"dismiss_{key}_duplicates"] = object_of(dismissed=COUNT)
    RESPONSES[f"read_{key}_duplicates"] = object_of(groups=array_of(group, maxItems=PAGE_SIZE), next=or_null(NAME))
