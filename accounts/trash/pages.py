"""The settings page of the trash: the deleted resources, and their restoration."""

from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.erasure.erasing import Receipt, erase_row
from accounts.erasure.pages import redirect_to_receipt
from accounts.erasure.personal_data import CUSTOMERS
from accounts.hosts.requests import UserRequest
from accounts.layout.settings import SettingsPage, parse_id
from core.db.tenancy import rows_of
from core.db.transactions import in_transaction
from core.errors import FieldErrors
from core.pages.base import redirect, safe_path
from core.pages.errors import error_sentence
from core.registry import registry
from core.rows.trash import TrashableQuerySet, restore, trash_contents

# The error if another resource has taken the name meanwhile.
TAKEN = _("It can't be restored yet, as another one has its name now. Rename that one first.")


class TrashPage(SettingsPage):
    template_name = "accounts/trash/trash.html"
    part = "trash"
    actions = {"restore": "restore", "erase": "erase"}

    def get(self, request: UserRequest) -> HttpResponse:
        resources = registry.trashable()
        kind = request.GET.get("kind", "")
        if kind and kind not in resources:
            raise Http404
        page = self.read_page()
        models = {key: model for key, model in registry.trashable_models().items() if kind in ("", key)}
        found = list(trash_contents(request.account, models, limit=page.stop)[page.start : page.stop])
        rows = found[: page.size]
        users = request.account.users.filter(id__in={row["trashed_by_id"] for row in rows})
        kept_for = timedelta(days=request.account.trash_days)
        users_by_id = {user.id: user for user in users} if rows else {}
        for row in rows:
            row["kind"] = resources[row["resource"]]
            row["by"], row["until"] = users_by_id.get(row["trashed_by_id"]), row["trashed_at"] + kept_for
        return self.render(
            rows=rows, page=page, more=len(found) > page.size, kind=kind, kinds=resources.values(), erasable=CUSTOMERS
        )

    def restore(self, request: UserRequest) -> HttpResponse:
        id, kind = parse_id(request.POST.get("id")), request.POST.get("kind", "")
        model = registry.trashable_models().get(kind)
        if id is None or model is None:
            raise Http404
        try:
            restored = in_transaction(lambda: restore(request.account, {kind: model}, id))
        except FieldErrors as caught:
            for error in caught.errors:
                messages.error(request, TAKEN if error.code == "taken" else error_sentence(error))
        else:
            if restored is None:
                messages.error(request, gettext("It is no longer in the trash."))
            else:
                messages.success(request, gettext("%(name)s is restored.") % {"name": restored[1]})
        return redirect(safe_path(request, request.POST.get("next"), reverse("accounts-trash")))

    def erase(self, request: UserRequest) -> HttpResponse:
        """Erase a client or a contact before its days in the trash are over."""
        id, kind = parse_id(request.POST.get("id")), request.POST.get("kind", "")
        if id is None or kind not in CUSTOMERS:
            raise Http404
        model = registry.trashable_models()[kind]

        def act() -> Receipt | None:
            rows: TrashableQuerySet[Any] = rows_of(request.account, model)  # type: ignore[assignment]  # of a Trashable
            row = rows.trashed().locked().filter(id=id).first()
            if row is None:
                return None
            row.account = request.account
            return erase_row(row, by=request.user)

        receipt = in_transaction(act)
        if receipt is None:
            messages.error(request, gettext("It is no longer in the trash."))
            return redirect("accounts-trash")
        return redirect_to_receipt(receipt)
