"""What was deleted in the last 30 days, and getting it back."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework.exceptions import ValidationError

from accounts.pages.settings import SettingsPage, to_id
from core.api.resources import ResourceViewSet
from core.api.views import in_transaction
from core.db.trash import KEPT_FOR, contents, restore
from core.pages.base import redirect, safe_path

# Of each kind: what one of it is called, what many are, and its icon.
KINDS = {
    "post": (gettext_lazy("Suggestion or task"), gettext_lazy("Suggestions and tasks"), "lightbulb"),
    "client": (gettext_lazy("Client"), gettext_lazy("Clients"), "building-2"),
    "contact": (gettext_lazy("Contact"), gettext_lazy("Contacts"), "user"),
    "contact_list": (gettext_lazy("Contact list"), gettext_lazy("Contact lists"), "list"),
    "deal": (gettext_lazy("Deal"), gettext_lazy("Deals"), "handshake"),
}


class TrashPage(SettingsPage):
    template_name = "accounts/trash.html"
    part = "trash"
    acts = {"restore": "restore"}

    def get(self, request) -> HttpResponse:
        every = {key: viewset.model for key, viewset in ResourceViewSet.trashable.items()}
        kind = request.GET.get("kind", "")
        if kind and kind not in every:
            raise Http404
        page = self.read_page()
        kinds = {kind: every[kind]} if kind else every
        found = list(contents(request.account, kinds, most=page.stop)[page.start : page.stop])
        rows = found[: page.size]
        users = request.account.users.filter(id__in={row["trashed_by_id"] for row in rows})
        who = {user.id: user for user in users} if rows else {}
        for row in rows:
            row["kind"], _many, row["icon"] = KINDS[row["resource"]]
            row["by"], row["until"] = who.get(row["trashed_by_id"]), row["trashed_at"] + KEPT_FOR
        return self.render(
            rows=rows,
            page=page,
            more=len(found) > page.size,
            kind=kind,
            kinds=[(key, many) for key, (_one, many, _icon) in KINDS.items() if key in every],
        )

    def restore(self, request) -> HttpResponse:
        id, viewset = to_id(request.POST.get("id")), ResourceViewSet.trashable.get(request.POST.get("kind", ""))
        if id is None or viewset is None:
            raise Http404
        try:
            found = in_transaction(lambda: restore(request.account, {viewset.key: viewset.model}, id))
        except ValidationError:
            # The one that there is: a contact list whose name another has.
            messages.error(
                request,
                _("It can't be restored yet, as another one has its name now. Rename that one first."),
            )
        else:
            if found is None:
                messages.error(request, _("It is no longer in the trash."))
            else:
                messages.success(request, _("%(name)s is restored.") % {"name": found[1]})
        return redirect(safe_path(request, request.POST.get("next"), reverse("accounts-trash")))
