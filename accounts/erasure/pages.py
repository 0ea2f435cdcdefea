"""The button that erases a user, and the receipt as a page and as a file."""

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext_lazy as _

from accounts.erasure.erasing import Receipt, erase_user, read_receipt
from accounts.erasure.personal_data import label_of
from accounts.hosts.requests import PageRequest, UserRequest
from accounts.users.pages import UserPage
from core.pages.base import Page, redirect

MAX_RECEIPT_LENGTH = 6_000


def redirect_to_receipt(receipt: Receipt) -> HttpResponse:
    return redirect("accounts-erasure-receipt", query={"receipt": receipt.signed()})


class ReceiptPage(Page):
    """The receipt of an erasure, which is stored nowhere: the address contains it, signed and without personal data.

    Everyone with the address may read it, because a user who has erased themselves can't sign in.
    """

    template_name = "accounts/erasure/receipt.html"

    def get(self, request: PageRequest) -> HttpResponse:
        signed = request.GET.get("receipt", "")
        receipt = read_receipt(request.account, signed) if len(signed) <= MAX_RECEIPT_LENGTH else None
        if receipt is None:
            raise Http404
        if request.GET.get("format") == "json":
            headers = {
                "Content-Disposition": f'attachment; filename="erasure-{receipt["resource"]}-{receipt["id"]}.json"'
            }
            return JsonResponse({**receipt, "signed": signed}, headers=headers, json_dumps_params={"indent": 2})
        file_path = reverse("accounts-erasure-receipt", query={"receipt": signed, "format": "json"})
        return self.render(
            receipt=receipt,
            subject=label_of(receipt["resource"]),
            erased_at=parse_datetime(receipt["erased_at"]),
            counts=[
                (title, [(label_of(key), number) for key, number in sorted(receipt[part].items())])
                for part, title in (("erased", _("Erased")), ("kept", _("Kept, under the name of a deleted user")))
            ],
            file_path=file_path,
        )


class ErasableUserPage(UserPage):
    actions = {**UserPage.actions, "erase": "erase"}

    def erase(self, request: UserRequest, id: int) -> HttpResponse:
        # Users erase themselves on the page of their profile, which asks for their password.
        if id == request.user.id:
            raise PermissionDenied
        receipts: list[Receipt] = []
        deletes_texts = request.POST.get("texts") == "on"

        def act() -> None:
            receipts[:] = [erase_user(self.find(id), by=request.user, deletes_texts=deletes_texts)]

        return redirect_to_receipt(receipts[0]) if self.perform(act) else redirect("accounts-user", id)
