"""Saved views in the Account API (JSON)."""

from typing import Any

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import PermissionDenied

from core.api.fields import BooleanField, ChoiceField, IntegerField, TextField
from core.api.lists import Paged
from core.api.requests import APIRequest
from core.api.serializers import ResourceSerializer
from core.db.ordering import MAX_POSITION
from core.db.transactions import in_transaction
from core.errors import FieldError
from workspace.views import SavedView, SavedViewQuerySet


class SavedViewSerializer(ResourceSerializer):
    """A saved view. `SavedView.write` checks the name, the query and the numbers of views."""

    model = SavedView

    resource = ChoiceField(SavedView.Target.values, required=True)
    name = TextField(required=True)
    query = TextField()
    shared = BooleanField()
    owner_id = IntegerField(read_only=True)
    position = IntegerField(min_value=-MAX_POSITION, max_value=MAX_POSITION)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """Leave out nulls, except for the query, where null means a list without filters."""
        values = {name: value for name, value in values.items() if value is not None or name == "query"}
        if "query" in values:
            values["query"] = values["query"] or ""
        if self.instance is not None and values.get("resource", self.instance.resource) != self.instance.resource:
            raise FieldError("resource", _("can't be changed"), "fixed")
        return values


class SavedViewViewSet(Paged):
    """The views that the user owns, and those that are shared with the team. Others do not exist for the user."""

    serializer_class = SavedViewSerializer

    def rows(self) -> SavedViewQuerySet:
        rows: SavedViewQuerySet = self.account.saved_views.visible_to(self.request.user)
        return rows

    def find(self, id: int) -> SavedView:
        """Return the locked view with an id. Raise Http404 if there is none, and PermissionDenied if the user may not change it."""
        row = self.rows().locked().filter(id=id).first()
        if row is None:
            raise Http404
        if not row.may_be_changed_by(self.request.user):
            raise PermissionDenied("Only the owner of a view may do this, and an admin if the view is shared")
        row.account = self.account
        return row

    def create(self, request: APIRequest) -> HttpResponse:
        row, ignored = in_transaction(lambda: self.write(SavedView(account=self.account, owner_id=request.user.id)))
        location = self.base_url + reverse("workspace-json-view", args=[row.id])
        return self.respond(self.represent(row), status=201, ignored=ignored, headers={"Location": location})

    def retrieve(self, request: APIRequest, id: int) -> HttpResponse:
        row = self.rows().filter(id=id).first()
        if row is None:
            raise Http404
        return self.respond(self.represent(row))

    def update(self, request: APIRequest, id: int) -> HttpResponse:
        row, ignored = in_transaction(lambda: self.write(self.find(id)))
        return self.respond(self.represent(row), ignored=ignored)

    def write(self, row: SavedView) -> tuple[SavedView, list[str]]:
        """Validate the body, and write the view. Return it with the names of ignored fields."""
        existing = None if row._state.adding else row
        data, context = self.body.get("view"), {"account": self.account}
        serializer = SavedViewSerializer(existing, data=data, partial=existing is not None, context=context)
        ignored = self.check(view=serializer)
        row.write(serializer.values, by=self.request.user)
        return row, ignored

    def destroy(self, request: APIRequest, id: int) -> HttpResponse:
        in_transaction(lambda: self.find(id).erase())
        return self.respond("ok")

    # This is the last method of the class, because in the class body after it `list` is no longer the built-in type.
    def list(self, request: APIRequest) -> HttpResponse:
        resource = self.parameters.get("resource", "").strip()
        errors = {}
        if resource and resource not in SavedView.Target.values:
            message = f"is not one of {', '.join(SavedView.Target.values)}"
            errors["resource"] = FieldError("resource", message, "choice")
        page = self.read_page("resource", errors=errors)
        rows = self.rows().filter(resource=resource) if resource else self.rows()
        return self.respond_with_page(page, rows.in_order()[page.start : page.stop])
