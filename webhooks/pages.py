"""The settings pages of webhooks."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models.functions import Left
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.audit_log.pages import FilterDayField, begin
from accounts.hosts.requests import UserRequest
from accounts.layout.forms import Form
from accounts.layout.settings import SettingsPage, parse_id
from core import outbound
from core.db.transactions import in_transaction
from core.errors import FieldError
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation
from webhooks import delivery
from webhooks.models import DISABLED, LOG_KEPT_FOR, Delivery, DeliveryQuerySet, Endpoint, EndpointQuerySet, event_types

ALL, SELECTED = "all", "selected"
# The number of entries of the log on a page, and the length of the shown beginning of a request.
ENTRIES_PER_PAGE = 7
MAX_SHOWN_REQUEST = 250


class WebhookForm(Form):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=255,
        required=False,
        help_text=gettext_lazy("What it is for, such as “Sales channel”. Lists and e-mails show it."),
    )
    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=outbound.MAX_URL_LENGTH,
        help_text=gettext_lazy("An address of your server that takes POST requests, such as https://example.com/hook."),
        widget=forms.URLInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    format = forms.ChoiceField(label=gettext_lazy("Format"), choices=Endpoint.Format.choices)
    scope = forms.ChoiceField(
        label=gettext_lazy("Events"),
        choices=[(ALL, gettext_lazy("All events")), (SELECTED, gettext_lazy("Only those chosen below"))],
        widget=forms.RadioSelect,
    )
    events = forms.MultipleChoiceField(
        label=gettext_lazy("Chosen events"),
        required=False,
        widget=forms.CheckboxSelectMultiple(attrs={"lang": "en", "class": "in-columns"}),
    )

    includes_imports = forms.BooleanField(
        label=gettext_lazy("Send the changes of imports too"),
        required=False,
        help_text=gettext_lazy("A large import sends an event for each of its rows."),
    )

    def __init__(self, data: QueryDict | None = None, *, row: Endpoint | None = None) -> None:
        initial: dict[str, object] = {"scope": ALL}
        if row is not None:
            initial = {
                "name": row.name,
                "url": row.url,
                "format": row.format,
                "scope": SELECTED if row.events else ALL,
                "events": row.events or [],
                "includes_imports": row.includes_imports,
            }
        super().__init__(data, initial=initial)
        self.set_choices("events", [(name, name) for name in event_types()])

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if values.get("scope") == SELECTED and not values.get("events") and "events" not in self.errors:
            self.add_error("events", _("Choose at least one event"))
        return values

    @property
    def values(self) -> dict[str, object]:
        """The values of the endpoint's fields."""
        values = self.cleaned_data
        return {
            "name": values["name"],
            "url": values["url"],
            "format": values["format"],
            "events": None if values["scope"] == ALL else values["events"],
            "includes_imports": values["includes_imports"],
        }


class SinceForm(Form):
    id_format = "range_%s"

    since = FilterDayField(label=gettext_lazy("From"))
    until = FilterDayField(label=gettext_lazy("Until"))
    since.required = True

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if values.get("since") and values.get("until") and values["until"] < values["since"]:
            self.add_error("until", _("Choose a day that is not before the first one"))
        return values

    @property
    def times(self) -> tuple[datetime, datetime | None]:
        """The beginning of the first day, and the end of the last one."""
        until = self.cleaned_data["until"]
        return begin(self.cleaned_data["since"]), begin(until + timedelta(days=1)) if until else None


class BasePage(SettingsPage):
    part = "webhooks"

    @property
    def rows(self) -> EndpointQuerySet:
        rows: EndpointQuerySet = self.request.account.webhooks.all()
        return rows


class WebhooksPage(CreatingPage, BasePage):
    """The list of webhooks, with the form for a new one."""

    template_name = "webhooks/webhooks.html"
    actions = {"add": "add"}

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show(WebhookForm())

    def add(self, request: UserRequest) -> HttpResponse:
        """Create a webhook. Respond with the page instead of a redirect, because the secret is shown only once."""
        form = WebhookForm(request.POST)
        secrets: list[str] = []

        def create() -> Endpoint:
            row, secret = Endpoint.objects.all().add(request.account, **form.values)
            secrets.append(secret)
            return row

        creation = Creation(
            create=create,
            rows=self.rows.locked(),
            path=lambda row: reverse("webhooks-webhook", args=[row.id]),
            saved=lambda row: WebhookForm(row=row).initial,
            change=lambda row: row.write(form.values),
        )
        row = self.create_once(form, creation)
        if row is None:
            return self.show(form)
        if not secrets:
            message = _("This webhook exists already. Its secret was shown once; you can replace it here.")
            messages.info(request, message)
            return redirect("webhooks-webhook", row.id)
        return self.show(WebhookForm(), created=row, secret=secrets[-1])

    def show(self, form: Form, **context: Any) -> HttpResponse:
        rows = list(self.rows.order_by("id"))
        return self.render_form(form, rows=rows, may_add=len(rows) < Endpoint.MAX_PER_ACCOUNT, **context)


class WebhookPage(BasePage):
    """A webhook: its state, its settings and the log of its deliveries."""

    template_name = "webhooks/webhook.html"
    actions = {
        name: name for name in ("save", "test", "enable", "disable", "rotate", "resend", "resend_since", "delete")
    }

    def get(self, request: UserRequest, id: int) -> HttpResponse:
        return self.show(self.find(id))

    def find(self, id: int, *, locked: bool = False) -> Endpoint:
        return get_object_or_404(self.rows.locked() if locked else self.rows, id=id)

    def entries(self, id: int) -> DeliveryQuerySet:
        return Delivery.objects.filter(account_id=self.request.account.id, endpoint_id=id)

    def show(
        self, row: Endpoint, form: Form | None = None, since_form: Form | None = None, **context: Any
    ) -> HttpResponse:
        page = self.read_page(per_page=ENTRIES_PER_PAGE)
        entries = self.entries(row.id).defer("request").annotate(request_start=Left("request", MAX_SHOWN_REQUEST))
        rows = list(entries.order_by("-id")[page.start : page.stop])
        expires_at = row.previous_secret_expires_at
        return self.render(
            form=form or WebhookForm(row=row),
            since_form=since_form or SinceForm(),
            row=row,
            reason=row.get_disabled_reason_display() if row.disabled_reason else "",
            deliveries=rows[: page.size],
            more=len(rows) > page.size,
            page=page,
            log_days=LOG_KEPT_FOR.days,
            has_previous=expires_at is not None and expires_at > timezone.now(),
            **context,
        )

    def save(self, request: UserRequest, id: int) -> HttpResponse:
        row = self.find(id)
        form = WebhookForm(request.POST)
        if not form.is_valid() or not self.submit_form(form, lambda: self.find(id, locked=True).write(form.values)):
            return self.show(row, form)
        messages.success(request, _("The webhook is saved."))
        return redirect("webhooks-webhook", id)

    def test(self, request: UserRequest, id: int) -> HttpResponse:
        message = _("A test is being sent. Its result is in the log in a moment: reload the page.")
        return self.act(id, lambda: delivery.defer_test(self.find(id)), message)

    def enable(self, request: UserRequest, id: int) -> HttpResponse:
        message = _("The webhook is on. It receives the events from now on.")
        return self.act(id, lambda: self.find(id, locked=True).write({"enabled": True}), message)

    def disable(self, request: UserRequest, id: int) -> HttpResponse:
        return self.act(id, lambda: self.find(id, locked=True).write({"enabled": False}), _("The webhook is off."))

    def rotate(self, request: UserRequest, id: int) -> HttpResponse:
        """Replace the secret. Respond with the page instead of a redirect, because the secret is shown only once."""
        secret = in_transaction(lambda: self.find(id, locked=True).rotate_secret())
        return self.show(self.find(id), secret=secret)

    def resend(self, request: UserRequest, id: int) -> HttpResponse:
        entry = get_object_or_404(self.entries(id).defer("request"), id=parse_id(request.POST.get("id")))

        def act() -> None:
            row = self.find(id)
            if not row.enabled:
                raise FieldError("webhook", DISABLED, "disabled")
            delivery.defer_resend(entry)

        return self.act(id, act, _("It is being sent again. The result is in the log in a moment."))

    def resend_since(self, request: UserRequest, id: int) -> HttpResponse:
        form = SinceForm(request.POST)
        counted: list[int] = []
        if not form.is_valid() or not self.submit_form(
            form, lambda: counted.append(self.find(id, locked=True).resend_since(*form.times))
        ):
            return self.show(self.find(id), since_form=form)
        messages.success(request, _("Changes that are sent again: %(number)d.") % {"number": counted[-1]})
        return redirect("webhooks-webhook", id)

    def delete(self, request: UserRequest, id: int) -> HttpResponse:
        message = _("The webhook and its log are deleted.")
        is_done = self.perform(lambda: self.find(id, locked=True).erase(), success_message=message)
        return redirect("webhooks-webhooks") if is_done else redirect("webhooks-webhook", id)

    def act(self, id: int, action: Callable[[], object], message: str) -> HttpResponse:
        self.perform(action, success_message=message)
        return redirect("webhooks-webhook", id)
