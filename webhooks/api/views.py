"""Webhooks in the Account API."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.urls import reverse
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from core.api.lists import Paged
from core.api.requests import APIRequest
from core.db.transactions import in_transaction
from core.errors import FieldError
from webhooks import jobs
from webhooks.api.serializers import DeliverySerializer, ResendSerializer, WebhookSerializer
from webhooks.models import DISABLED, Delivery, Endpoint, EndpointQuerySet

if TYPE_CHECKING:
    from accounts.users import User


class MayManageWebhooks(BasePermission):
    message = "Only an admin or the owner may do this"

    def has_permission(self, request: Request, view: APIView) -> bool:
        user = cast("User | None", request.user)
        return user is not None and Endpoint.may_be_managed_by(user)


class WebhookViewSet(Paged):
    permission_classes = [MayManageWebhooks]
    serializer_class = WebhookSerializer
    shown_once = ("secret",)

    def rows(self) -> EndpointQuerySet:
        rows: EndpointQuerySet = self.account.webhooks.all()
        return rows

    def find(self, id: int) -> Endpoint:
        """Return the locked row with an id. Raise Http404 if there is none."""
        row = self.rows().locked().filter(id=id).first()
        if row is None:
            raise Http404
        return row

    def create(self, request: APIRequest) -> HttpResponse:
        def act() -> tuple[Endpoint, str, list[str]]:
            serializer, ignored = self.read(None)
            row, secret = Endpoint.objects.all().add(self.account, **serializer.values)
            return row, secret, ignored

        row, secret, ignored = in_transaction(act)
        location = self.base_url + reverse("webhooks-json-webhook", args=[row.id])
        data = self.represent(row) | {"secret": secret}
        return self.respond(data, status=201, ignored=ignored, headers={"Location": location})

    def retrieve(self, request: APIRequest, id: int) -> HttpResponse:
        row = self.rows().filter(id=id).first()
        if row is None:
            raise Http404
        return self.respond(self.represent(row))

    def update(self, request: APIRequest, id: int) -> HttpResponse:
        def act() -> tuple[Endpoint, list[str]]:
            row = self.find(id)
            serializer, ignored = self.read(row)
            row.write(serializer.values)
            return row, ignored

        row, ignored = in_transaction(act)
        return self.respond(self.represent(row), ignored=ignored)

    def read(self, row: Endpoint | None) -> tuple[WebhookSerializer, list[str]]:
        data = self.body.get("webhook")
        serializer = WebhookSerializer(row, data=data, partial=row is not None, context={"account": self.account})
        return serializer, self.check(webhook=serializer)

    def destroy(self, request: APIRequest, id: int) -> HttpResponse:
        in_transaction(lambda: self.find(id).erase())
        return self.respond("ok")

    def rotate(self, request: APIRequest, id: int) -> HttpResponse:
        """Replace the secret. The previous one stays valid for 24 hours."""

        def act() -> dict[str, Any]:
            row = self.find(id)
            secret = row.rotate_secret()
            return self.represent(row) | {"secret": secret}

        return self.respond(self.act_without_body(act))

    def test(self, request: APIRequest, id: int) -> HttpResponse:
        """Have a worker send a test message."""

        def act() -> str:
            row = self.find(id)
            jobs.defer_test(row)
            return "ok"

        return self.respond(self.act_without_body(act))

    def resend(self, request: APIRequest, id: int) -> HttpResponse:
        """Have workers send one message of the log again, or all events since a time."""

        def act() -> list[str]:
            row = self.find(id)
            serializer = ResendSerializer(data=self.body.get("resend"), context={"account": self.account})
            ignored = self.check(resend=serializer)
            values = serializer.values
            if not row.enabled:
                raise FieldError("webhook", DISABLED, "disabled")
            if "since" in values:
                row.resend_since(values["since"])
                return ignored
            entry = self.deliveries_of(id).filter(id=values["delivery_id"]).first()
            if entry is None:
                raise FieldError("delivery_id", "can't be found", "missing")
            jobs.defer_resend(entry)
            return ignored

        return self.respond("ok", ignored=in_transaction(act))

    def act_without_body(self, act: Callable[[], Any]) -> Any:
        def checked() -> Any:
            self.check()
            return act()

        return in_transaction(checked)

    def deliveries(self, request: APIRequest, id: int) -> HttpResponse:
        """Return a page of the log, newest first."""
        page = self.read_page()
        if not self.rows().filter(id=id).exists():
            raise Http404
        rows = self.deliveries_of(id).order_by("-id")[page.start : page.stop]
        return self.respond_with_page(page, rows, lambda row: DeliverySerializer.represent(row, self.account.zone))

    def deliveries_of(self, id: int) -> QuerySet[Delivery]:
        return Delivery.objects.filter(account_id=self.account.id, endpoint_id=id)

    # This is the last method of the class, because in the class body after it `list` is no longer the built-in type.
    def list(self, request: APIRequest) -> HttpResponse:
        page = self.read_page()
        return self.respond_with_page(page, self.rows().order_by("id")[page.start : page.stop])
