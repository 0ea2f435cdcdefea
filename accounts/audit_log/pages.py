"""The settings page of the audit log, and its file for spreadsheet programs."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.audit.actions import GROUPS, action_label
from accounts.audit.models import KEPT_FOR, AuditEntry, AuditQuerySet, record
from accounts.hosts.requests import UserRequest
from accounts.layout.forms import Form
from accounts.layout.settings import SettingsPage, parse_id
from accounts.sessions.models import Session
from core.files.responses import in_pace
from core.http import throttling
from core.http.spreadsheets import guard
from core.tenants import TenantUser

PAGE_SIZE = 50
MAX_ACTORS = 500
# The number of rows that are read together.
CHUNK_SIZE = 1000
COLUMNS = (
    *("id", "at", "action", "actor_kind", "actor_id", "actor_name", "token_label"),
    *("target_kind", "target_id", "target_label", "details", "address", "agent", "interface"),
)


class FilterDayField(forms.DateField):
    def __init__(self, *, label: Any) -> None:
        widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
        limits = [MinValueValidator(date(2000, 1, 1)), MaxValueValidator(date(2999, 12, 31))]
        super().__init__(label=label, required=False, widget=widget, validators=limits)


class AuditFilterForm(Form):
    id_format = "filter-%s"

    actor = forms.TypedChoiceField(label=_("Who"), coerce=int, empty_value=None, required=False)
    group = forms.ChoiceField(label=_("Concerns"), required=False)
    since = FilterDayField(label=_("From"))
    until = FilterDayField(label=_("Until"))
    target = forms.CharField(label=_("Name contains"), required=False, max_length=255)

    def __init__(self, *args: Any, account: Account) -> None:
        super().__init__(*args)
        team = account.users.all_team().values_list("id", "name", "login")[:MAX_ACTORS]
        self.set_choices("actor", [("", _("Everyone")), *((id, name or login) for id, name, login in team)])
        groups = sorted(((key, str(label)) for key, label in GROUPS.items()), key=lambda choice: choice[1])
        self.set_choices("group", [("", _("Everything")), *groups])

    def filters(self) -> dict[str, Any]:
        """Return the filters of valid values. A day begins at midnight in the time zone of the reader."""
        values = self.cleaned_data
        since, until = values["since"], values["until"]
        return {
            "actor_id": values["actor"],
            "group": values["group"],
            "since": since and begin(since),
            "until": until and begin(until + timedelta(days=1)),
            "target": values["target"],
        }


def begin(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))


class AuditPage(SettingsPage):
    """The entries, newest first, for owners alone."""

    template_name = "accounts/audit_log/audit.html"
    part = "audit"

    def allows(self, user: TenantUser) -> bool:
        return self.request.user.is_owner

    @property
    def rows(self) -> AuditQuerySet:
        rows: AuditQuerySet = self.request.account.audit_entries.all()
        return rows

    def get(self, request: UserRequest) -> HttpResponse:
        form, rows = AuditFilterForm(request.GET, account=request.account), list[AuditEntry]()
        if form.is_valid():
            before = parse_id(request.GET.get("before"))
            rows = list(self.rows.matching(**form.filters(), before=before)[: PAGE_SIZE + 1])
        for row in rows:
            row.label = action_label(row.action)  # type: ignore[attr-defined]  # read by the template
            row.device = Session(agent=row.agent)  # type: ignore[attr-defined]
            row.shown = list(shown_details(row.details))  # type: ignore[attr-defined]
        shown = rows[:PAGE_SIZE]
        last_id = shown[-1].id if len(rows) > PAGE_SIZE else None
        return self.render_form(form, rows=shown, last_id=last_id, days=KEPT_FOR.days)


def shown_details(details: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the names and the texts of details, without those that are blank."""
    for name, change in details.get("changes", {}).items():
        before, after = (shown_value(change[time]) for time in ("before", "after"))
        yield name, f"{before} → {after or '—'}" if before else after
    for name, value in details.items():
        if name != "changes" and value is not None:
            yield name, shown_value(value)


def shown_value(value: Any) -> str:
    if isinstance(value, bool):
        return gettext("Yes") if value else gettext("No")
    if isinstance(value, list):
        return ", ".join(map(shown_value, value))
    return "" if value is None else str(value)


class AuditFile(AuditPage):
    """The entries that pass the filters as a CSV file."""

    template_name = ""

    def get(self, request: UserRequest) -> HttpResponse:
        throttling.count_export(request)
        form = AuditFilterForm(request.GET, account=request.account)
        if not form.is_valid():
            raise Http404
        record(request.account.id, "export.started", resource="audit")
        chunks = in_pace(csv_chunks(self.rows.matching(**form.filters())))
        response = StreamingHttpResponse(chunks, content_type="text/csv; charset=utf-8")
        name = f"audit-{timezone.localdate().isoformat()}.csv"
        response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
        response.headers["Cache-Control"] = "private, no-store"
        return response  # type: ignore[return-value]  # the stubs have no common base


def csv_chunks(entries: AuditQuerySet) -> Iterator[bytes]:
    """Return the CSV in chunks, each of which takes one statement."""
    chunk = b"\xef\xbb\xbf" + csv_lines([COLUMNS])
    while chunk:
        yield chunk
        rows = list(entries[:CHUNK_SIZE])
        chunk = csv_lines(map(cells, rows))
        entries = entries.filter(id__lt=rows[-1].id) if rows else entries


def csv_lines(rows: Iterable[Sequence[str]]) -> bytes:
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue().encode()


def cells(row: AuditEntry) -> list[str]:
    values = {name: getattr(row, name) for name in COLUMNS}
    values |= {"at": row.at.isoformat(), "details": json.dumps(row.details, ensure_ascii=False)}
    return ["" if value is None else guard(str(value)) for value in values.values()]
