"""The reports of why deals were closed, and of what each person did."""

from collections import defaultdict
from decimal import Decimal

from django.db.models import Case, Count, F, When
from django.utils.translation import gettext_lazy as _

from accounts.statuses.models import Status, reason_text
from crm.notes.models import Note
from forum.posts.tasks import IS_TASK
from team.reports.periods import days_of
from team.reports.queries import ReportQuery, share, sums_by
from team.reports.tables import ColumnKind, ReportCell, ReportColumn, ReportRow, make_row

REASONS = (
    ReportColumn("reason", _("Reason"), ColumnKind.TEXT),
    ReportColumn("outcome", _("Outcome"), ColumnKind.TEXT),
    ReportColumn("currency", _("Currency"), ColumnKind.TEXT),
    ReportColumn("deals", _("Deals"), ColumnKind.COUNT),
    ReportColumn("total", _("Amount"), ColumnKind.MONEY),
    ReportColumn("part", _("Share of deals"), ColumnKind.SHARE),
)
# The outcomes for people, and the columns with their reasons.
OUTCOMES = {Status.Outcome.LOST: (_("Lost"), "lost_reason"), Status.Outcome.WON: (_("Won"), "won_reason")}


def reasons(query: ReportQuery) -> list[ReportRow]:
    """Return the reasons of the deals that were lost and won in the period, the most frequent first. A deal may have none."""
    begin, end = query.period.times
    closed = query.deals(*OUTCOMES).filter(closed_at__gte=begin, closed_at__lt=end)
    won = When(status_id__in=query.status_ids(Status.Outcome.WON), then=F("won_reason"))
    rows = closed.annotate(reason=Case(won, default=F("lost_reason")))
    sums = defaultdict[tuple[str, str, str], list[Decimal]](lambda: [Decimal(0), Decimal(0)])
    for column_id, reason, currency, deals, total in sums_by(rows, "column_id", "reason", "currency"):
        found = sums[str(query.statuses[column_id].outcome), reason or "", currency]
        found[0] += deals
        found[1] += total or 0
    wholes = defaultdict[tuple[str, str], int](int)
    for (outcome, _reason, currency), (deals, _total) in sums.items():
        wholes[outcome, currency] += int(deals)
    order = sorted(sums, key=lambda key: (key[2], list(OUTCOMES).index(Status.Outcome(key[0])), -sums[key][0], key[1]))
    after, before = days_of(query.period.first)[0], days_of(query.period.last)[1]
    table = []
    for outcome, reason, currency in order:
        label, column = OUTCOMES[Status.Outcome(outcome)]
        deals, total = sums[outcome, reason, currency]
        filters: dict[str, object] = {column: reason} if reason else {f"{column}__empty": "true"}
        filters |= {"outcome": outcome, "currency": currency, "closed_at__after": after, "closed_at__before": before}
        path = query.deals_path(**filters)
        figures = [ReportCell(int(deals), path), ReportCell(total, path)]
        part = share(int(deals), wholes[outcome, currency])
        table.append(
            make_row(
                reason_text(reason) if reason else str(_("Without a reason")), str(label), currency, *figures, part
            )
        )
    return table


ACTIVITIES = (
    ReportColumn("name", _("Person"), ColumnKind.TEXT),
    ReportColumn("calls", _("Calls"), ColumnKind.COUNT),
    ReportColumn("emails", _("E-mails"), ColumnKind.COUNT),
    ReportColumn("meetings", _("Meetings"), ColumnKind.COUNT),
    ReportColumn("notes", _("Notes"), ColumnKind.COUNT),
    ReportColumn("tasks", _("Tasks done"), ColumnKind.COUNT),
)
KINDS = {"calls": Note.Kind.CALL, "emails": Note.Kind.EMAIL, "meetings": Note.Kind.MEETING, "notes": Note.Kind.NOTE}


def activities(query: ReportQuery) -> list[ReportRow]:
    """Return the notes of each person by kind, at the time that they name, and the tasks that were done, of their responsible user."""
    begin, end = query.period.times
    account, person = query.account, query.responsible_id
    notes = account.notes.live().accessible_to(query.user).filter(noted_at__gte=begin, noted_at__lt=end).order_by()
    tasks = (
        account.posts.filter(IS_TASK, completed_at__gte=begin, completed_at__lt=end)
        .accessible_to(query.user)
        .order_by()
    )
    if person is not None:
        notes, tasks = notes.filter(creator_id=person), tasks.filter(responsible_id=person)
    counts = defaultdict[tuple[int | None, str], int](int)
    for id, kind, number in (
        notes.values("creator_id", "kind").annotate(number=Count("id")).values_list("creator_id", "kind", "number")
    ):
        counts[id, kind] += number
    done = tasks.values("responsible_id").annotate(number=Count("id"))
    for id, number in done.values_list("responsible_id", "number"):
        counts[id, "tasks"] += number
    ids = {id for id, _kind in counts}
    users = account.users.filter(id__in=[id for id in ids if id is not None]).values_list("id", "name", "login")
    names = {id: name or login for id, name, login in users}
    order = sorted(ids, key=lambda user_id: (names.get(user_id or 0, ""), user_id or 0))
    return [
        make_row(names.get(id or 0), *(counts[id, kind] for kind in KINDS.values()), counts[id, "tasks"], id=id)
        for id in order
    ]
