"""The pages that merge two clients or two contacts: find the other one, compare both, confirm. The merges of a record on its page.

The comparison carries the times of the last changes of both records. If one of them was changed meanwhile, the page is shown again.
"""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, JSONObject
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.account.models import Account
from accounts.fields.catalogue import grouped
from accounts.layout.settings import parse_id
from accounts.users.models import User
from core.error_responses import error_response
from core.errors import Conflict
from core.pages.base import redirect
from core.rows.access import Access
from core.search.queries import search, search_transaction
from crm.clients.models import Client
from crm.clients.similar import find_similar
from crm.contacts.models import Contact
from crm.resources.models import ExternallyIdentified
from team.fields.cells import fact_of, with_linked_names
from team.lists.pages.base import RecordsPage
from team.menu.pages import TeamPage, TeamRequest, search_text
from team.merges.comparison import Choice, Difference, compared_fields, differences
from team.merges.models import MODELS, Merge, lock_rows

# The number of records that the search finds, and of merges that the page of a record shows.
MAX_FOUND, MAX_SHOWN = 10, 5
# The action of a list that merges the selected rows.
MERGE = "merge"

TITLES = {"client": gettext_lazy("Merge clients"), "contact": gettext_lazy("Merge contacts")}
MISSING = {
    "client": gettext_lazy("There is no such client to merge."),
    "contact": gettext_lazy("There is no such contact to merge."),
}
# The prefix of the names of the radio buttons, before the name of the field.
PREFIX = "use:"


@dataclass(frozen=True)
class ComparisonRow:
    name: str
    label: str | Promise
    # The values to choose from: the choice, the text, and whether it is selected.
    options: list[tuple[Choice, str, bool]]


class MergeRecordsPage(RecordsPage):
    """Merging another record into one, which stays."""

    template_name = "team/merges/merge.html"

    @property
    def resource(self) -> str:
        return self.declaration.resource

    def live_rows(self) -> QuerySet[Any]:
        """Return the live records, with the names of the rows to which they link."""
        rows = self.accessible_records().live()
        return with_linked_names(rows, self.resource, self.request.account, self.request.user.access)

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        other_id = parse_id(request.GET.get("with"))
        rows = {row.id: row for row in self.live_rows().filter(id__in=[id, other_id or 0])}
        kept, other = rows.get(id), rows.get(other_id) if other_id != id else None
        if kept is None:
            if self.accessible_records().filter(id=id).exists():
                # The page of the record says that it is in the trash, or with which record it was merged.
                return redirect(self.declaration.row_route, id)
            raise Http404
        if "with" in request.GET and other is None:
            messages.error(request, str(MISSING[self.resource]))
        return self.find(kept) if other is None else self.compare(kept, other)

    def find(self, kept: Client | Contact) -> HttpResponse:
        q = search_text(self.request.GET)
        found = self.search(q, kept.id) if q else []
        values = {"name": kept.name, "email": kept.email or "", "tax_no": getattr(kept, "tax_no", None) or ""}
        similar = find_similar(self.request.account, self.request.user, **values)
        others = [record for record in similar if record.kind == self.resource and record.id != kept.id]
        return self.render(title=TITLES[self.resource], row=kept, q=q, found=found, similar=others)

    def search(self, q: str, id: int) -> list[dict[str, object]]:
        """Return the record whose id the text is, or else those that a search finds."""
        rows = self.accessible_records().live().exclude(id=id)
        columns = ("id", "name", "email", "phone")
        if (number := parse_id(q.removeprefix("#"))) and (exact := list(rows.filter(id=number).values(*columns))):
            return exact
        with search_transaction(self.request.account.id, q) as query:
            ids = search(rows, query, enough=MAX_FOUND)[:MAX_FOUND]
            by_id = {row["id"]: row for row in rows.filter(id__in=ids).values(*columns)}
        return [by_id[id] for id in ids if id in by_id]

    def compare(
        self, kept: ExternallyIdentified, merged: ExternallyIdentified, *, http_status: int = 200
    ) -> HttpResponse:
        fields = compared_fields(self.request.account, self.resource, (kept, merged))
        found = differences(kept, merged, fields)
        names = {difference.field.name for difference in found}
        equal = [fact for field in fields if field.name not in names and (fact := fact_of(kept, field)).text]
        rows = {difference.field.name: self.row(difference, kept, merged) for difference in found}
        groups = grouped(difference.field for difference in found)
        return self.render(
            "team/merges/compare.html",
            http_status=http_status,
            title=TITLES[self.resource],
            row=kept,
            other=merged,
            groups=[(label, [rows[field.name] for field in members]) for label, members in groups],
            equal=equal,
            shown=version_of(kept, merged),
            moved=moved_numbers(self.request.account, self.request.user, self.resource, merged.id),
            external_ids=sorted(merged.external_ids.items()),
            swap_path=merge_path(self.resource, merged.id, query={"with": kept.id}),
            find_path=merge_path(self.resource, kept.id),
        )

    def row(self, difference: Difference, kept: ExternallyIdentified, merged: ExternallyIdentified) -> ComparisonRow:
        is_newer = merged.updated_at > kept.updated_at
        selected = difference.default(prefer=Choice.MERGED if is_newer else Choice.KEPT)
        name = f"{PREFIX}{difference.field.name}"
        posted = self.request.POST.get(name)
        if posted in difference.choices:
            selected = Choice(posted)
        texts = {
            Choice.KEPT: fact_of(kept, difference.field).text,
            Choice.MERGED: fact_of(merged, difference.field).text,
            Choice.BOTH: _("Keep both"),
        }
        options = [(choice, texts[choice], choice == selected) for choice in difference.choices]
        return ComparisonRow(name, difference.field.label, options)

    def post(self, request: TeamRequest, id: int) -> HttpResponse:
        other_id = parse_id(request.POST.get("with"))
        if other_id is None:
            return error_response(request, 400)
        choices = {
            name.removeprefix(PREFIX): Choice(str(value))
            for name, value in request.POST.items()
            if name.startswith(PREFIX) and value in [*Choice]
        }
        names: list[str] = []
        merges: list[Merge] = []

        def act() -> None:
            account, user = request.account, request.user
            rows = {row.id: row for row in lock_rows(account, self.resource, id, other_id, access=user.access)}
            if id not in rows:
                raise Http404
            names[:] = [str(rows[row_id]) for row_id in (other_id, id) if row_id in rows]
            if other_id in rows and is_merged(rows[id], rows[other_id]):
                # Another request, such as that of a second click, has merged the records already.
                return
            are_live = all(row_id in rows and rows[row_id].trashed_at is None for row_id in (id, other_id))
            if are_live and request.POST.get("shown") != version_of(rows[id], rows[other_id]):
                raise Conflict(_("One of the two was changed meanwhile. Check the values, and merge again."))
            merges[:] = [Merge.objects.all().merge(account, self.resource, id, other_id, choices, by=user)]

        if self.perform(act):
            name = format_html("<strong>{}</strong>", names[0])
            text = format_html(_("{name} is merged into this record."), name=name)
            if merges:
                # The page of the record has the form.
                button = '{} <button class="quiet small" form="undo-merge-{}">{}</button>'
                text = format_html(button, text, merges[0].id, _("Undo"))
            messages.success(request, text)
            return redirect(self.declaration.row_route, id)
        rows = {row.id: row for row in self.live_rows().filter(id__in=[id, other_id])}
        if len(rows) < 2:
            return redirect(self.declaration.row_route, id)
        return self.compare(rows[id], rows[other_id], http_status=422)


def merge_path(resource: str, id: int, query: dict[str, int] | None = None) -> str:
    """Return the path of the page that merges another record into a client or contact."""
    return reverse(f"team-{resource}-merge", args=[id], query=query)


def is_merged(kept: ExternallyIdentified, merged: ExternallyIdentified) -> bool:
    return kept.trashed_at is None and Merge.objects.of_merged([merged]).of_kept(kept).active().exists()


def version_of(kept: ExternallyIdentified, merged: ExternallyIdentified) -> str:
    """Return the times of the last changes of both records, which the form of the comparison carries."""
    return f"{kept.updated_at.isoformat()} {merged.updated_at.isoformat()}"


def moved_numbers(account: Account, user: User, resource: str, id: int) -> list[tuple[str | Promise, int]]:
    """Return the numbers of the rows that a merge moves and that the user may access, with labels, in one statement."""
    link = {f"{resource}_id": id}
    contacts = account.contacts.live().accessible_to(user)
    rows: dict[str | Promise, QuerySet[Model]] = {
        **({gettext_lazy("Contacts"): contacts} if resource == "client" else {}),
        gettext_lazy("Deals"): account.deals.live().accessible_to(user),
        gettext_lazy("Tasks"): account.posts.live().tasks().accessible_to(user),
        gettext_lazy("Notes"): account.notes.live().accessible_to(user),
        gettext_lazy("Suggestions"): account.posts.listed_for(user),
        gettext_lazy("Votes"): account.proxy_votes.all(),
    }
    counts = {
        f"n{number}": Coalesce(
            Subquery(queryset.filter(**link).order_by().values("account_id").annotate(n=Count("*")).values("n")), 0
        )
        for number, queryset in enumerate(rows.values())
    }
    found = Account.objects.filter(id=account.id).values_list(*[]).annotate(**counts).values(*counts)[0]
    return [(label, found[name]) for label, name in zip(rows, counts, strict=True) if found[name]]


class UndoMergeView(TeamPage):
    def post(self, request: TeamRequest, id: int) -> HttpResponse:
        merge: Merge = get_object_or_404(request.account.merges.accessible_to(request.user), id=id)
        merge.account = request.account
        if self.perform(lambda: merge.undo(by=request.user)):
            messages.success(request, _("The merge is undone. Both records are back."))
            if merge.unrestored_fields:
                text = _("These fields were changed after the merge, and keep their values: %(fields)s.")
                messages.warning(request, text % {"fields": ", ".join(self.labels(merge))})
        return redirect(f"team-{merge.resource}", merge.kept_id)

    def labels(self, merge: Merge) -> list[str]:
        fields = compared_fields(self.request.account, merge.resource, ())
        labels = {field.name: str(field.label) for field in fields}
        return [labels.get(name, name) for name in merge.unrestored_fields]


# The merges of a record on its page


def annotate_merges(rows: QuerySet[Model], resource: str, access: Access) -> QuerySet[Model]:
    """Add the merges into each client or contact that can be undone, newest first, for `merges_of`."""
    own = {"account_id": OuterRef("account_id"), f"{resource}_id": OuterRef("id")}
    merges = Merge.objects.filter(**own).active().limited_to(access).order_by("-id")
    values = JSONObject(id="id", created_at="created_at", merged_name=f"merged_{resource}__name")
    found: QuerySet[Model] = rows.annotate(merges_data=ArraySubquery(merges.values(found=values)[:MAX_SHOWN]))
    return found


def merges_of(row: Any) -> list[dict[str, object]]:
    """Return the merges into an annotated record. It takes no statement."""
    return [{**merge, "created_at": parse_datetime(merge["created_at"])} for merge in row.merges_data]


def merge_of_trashed(request: TeamRequest, row: Any) -> dict[str, object] | None:
    """Return the merge that moved the record to the trash, if there is one. Its name is empty if the user may not access the other."""
    resource = str(row._meta.model_name)
    if resource not in MODELS:
        return None
    merge = Merge.objects.of_merged([row]).active().accessible_to(request.user).first()
    if merge is None:
        return None
    rows: Any = MODELS[resource]._default_manager.filter(account_id=row.account_id, id=merge.kept_id)
    return {
        "id": merge.id,
        "kept_name": rows.values_list("name", flat=True).first(),
        "kept_path": reverse(f"team-{resource}", args=[merge.kept_id]),
    }
