"""The pages of a client, a contact and a deal: its fields, edited in place, and what belongs to it.

Each page takes a fixed number of statements. The names of users, statuses and clients are read with the rows that show them.
"""

from collections.abc import Collection
from typing import Any

from django.contrib import messages
from django.db.models import Model, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from accounts.account.models import Account
from accounts.layout.settings import parse_id
from core.db.prepared import prepared
from core.db.tenancy import account_of
from core.error_responses import error_response
from core.pages.base import redirect
from core.rows.access import Access, prepared_access
from crm.fields.catalogue import fields_of, grouped
from crm.resources.models import CRMResource
from team.bulk.actions import ACTIONS, Action
from team.fields.facts import as_status, fact_of, shown_fields, with_linked_names
from team.lists.declarations import LISTS
from team.menu.pages import ActionsPage, TeamRequest, search_text
from team.merges.pages import annotate_merges, merge_of_trashed, merge_path, merges_of
from team.notes.forms import Composer
from team.records.pages.panels import (
    contact_lists_of,
    contacts_of,
    deals_of,
    external_ids_of,
    feedback_of,
    find_suggestions,
    stages_of,
    summary_of,
    tasks_of,
)
from team.records.pages.user_links import UserLinksMixin
from team.summaries.models import with_stored_values
from team.timeline.pages import PAGE_SIZE, timeline_section


class RecordPage(ActionsPage, Composer):
    """The base of the pages of one record. A record in the trash has only its name and, for those who may, a button to restore it."""

    template_name = "team/records/record.html"
    actions = {"trash": "trash", "restore": "restore", "compose": "compose", "tick": "complete_task"}

    def rows(self) -> QuerySet[Model]:
        """Return the records that the user may access, including those in the trash."""
        rows: QuerySet[Model] = getattr(self.request.account, self.declaration.collection).accessible_to(
            self.request.user
        )
        return rows

    def find(self, id: int) -> CRMResource:
        account, access = self.request.account, self.request.user.access
        row: CRMResource | None = _records.first(account_id=account.id, id=id, page=type(self), **access.arguments)
        if row is None:
            raise Http404
        row.account = account
        return row

    @classmethod
    def annotated(cls, rows: QuerySet[Model], account: Account, access: Access) -> QuerySet[Model]:
        """Add the status of the record, and the names of the users and of the rows of the access to which it links."""
        return with_linked_names(rows, cls.declaration.resource, account, access)

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        row = self.find(id)
        if row.trashed_at is not None:
            merge = merge_of_trashed(self.request, row)
            return self.render(
                "team/records/record_in_trash.html",
                row=row,
                merge=merge,
                may_restore=merge is None and self.may_restore(row),
            )
        return self.show(row)

    def show(self, row: CRMResource, *, http_status: int = 200, **context: Any) -> HttpResponse:
        fields = fields_of(self.request.account, self.declaration.resource)
        facts = [fact_of(row, field) for field in fields]
        page = self.read_page(per_page=PAGE_SIZE)
        values = {
            "row": row,
            "about": {"client": getattr(row, "client_id", None), self.declaration.resource: row.id},
            "summary": summary_of(row),
            "status": as_status(getattr(row, "status_data", None)),
            "groups": [
                (label, [fact for fact in facts if fact.field in fields])
                for label, fields in grouped(shown_fields(facts))
            ],
            "empty": [fact for fact in facts if not fact.text and fact.edit_path],
            "timeline": timeline_section(self.request, self.declaration.resource, row.id, fields, page),
            **self.panels(row),
        }
        return self.render(http_status=http_status, **values | context)

    def panels(self, row: CRMResource) -> dict[str, Any]:
        """Return the rows that belong to the record, and the form for more of them, for the template."""
        return {"composer": self.composer(), "tasks": tasks_of(self.request, self.declaration.resource, row.id)}

    def may_restore(self, row: CRMResource) -> bool:
        """Return whether the user may restore the record: an admin, or the user who moved it to the trash."""
        return self.request.user.is_admin or row.trashed_by_id == self.request.user.id

    def lock(self, id: int) -> CRMResource:
        """Return the record, locked until the transaction ends."""
        row: CRMResource = get_object_or_404(self.rows().locked(), id=id)  # type: ignore[attr-defined]
        return row

    def trash(self, id: int) -> HttpResponse:
        def act() -> None:
            row = self.lock(id)
            if row.trashed_at is None:
                row.trash(by=self.request.user)

        self.perform(act)
        return redirect(self.declaration.row_route, id)

    def restore(self, id: int) -> HttpResponse:
        def act() -> bool:
            row = self.lock(id)
            if row.trashed_at is not None:
                if not self.may_restore(row):
                    return False
                row.restore()
            return True

        allowed: list[bool] = []
        if self.perform(lambda: allowed.append(act())) and allowed[-1]:
            messages.success(self.request, _("It is restored."))
        elif allowed and not allowed[-1]:
            return error_response(self.request, 403)
        return redirect(self.declaration.row_route, id)

    def complete_task(self, id: int) -> HttpResponse:
        """Close a task, whatever it belongs to now."""
        task_id = parse_id(self.request.POST.get("task"))
        tasks = self.request.account.posts.live().filter(category_id=None).accessible_to(self.request.user)

        def act() -> None:
            task = get_object_or_404(tasks.locked(), id=task_id or 0)
            if not task.closed:
                task.write({"closed": True}, by=self.request.user)

        self.perform(act, success_message=_("The task is completed."))
        return redirect(self.declaration.row_route, id)


@prepared(account_id=int, id=int, responsible_ids=list)
def _records(
    account_id: int, id: int, page: type[RecordPage], responsible_ids: Collection[int] | None = None
) -> QuerySet[Model]:
    """Build the query for the record of a page. It may be in the trash."""
    account: Account = account_of(account_id)
    access = prepared_access(responsible_ids)
    rows = getattr(account, page.declaration.collection).limited_to(access).filter(id=id)
    return page.annotated(with_stored_values(rows, page.declaration.resource, account, access), account, access)[:1]


class CustomerPage(UserLinksMixin, RecordPage):
    """The base of the pages of clients and contacts: suggestions, votes and users belong to them."""

    actions = {**RecordPage.actions, "vote": "vote"} | UserLinksMixin.link_actions

    @classmethod
    def annotated(cls, rows: QuerySet[Model], account: Account, access: Access) -> QuerySet[Model]:
        return annotate_merges(super().annotated(rows, account, access), cls.declaration.resource, access)

    def panels(self, row: Any) -> dict[str, Any]:
        vote_q = search_text(self.request.GET, "vote_q")
        user_links = self.user_links_context(self.link, row.id)
        return {
            **super().panels(row),
            **user_links,
            "feedback": feedback_of(
                self.request, {self.link: row.id}, user_ids=user_links["linked_users"].confirmed_ids
            ),
            "external_ids": external_ids_of(row),
            "merges": merges_of(row),
            "merge_path": merge_path(self.declaration.resource, row.id),
            "vote_q": vote_q,
            "suggestions": find_suggestions(self.request, vote_q) if vote_q else [],
        }

    def vote(self, id: int) -> HttpResponse:
        """Cast the vote of the customer for a suggestion."""
        row, user = self.find(id), self.request.user
        if row.trashed_at is not None:
            raise Http404
        post_id = parse_id(self.request.POST.get("post"))

        def act() -> None:
            post = get_object_or_404(self.request.account.posts.listed_for(user).locked(), id=post_id or 0)
            post.cast_proxy_vote(by=user, **{self.link: row.id})

        self.perform(act, success_message=_("The vote of %(name)s counts.") % {"name": str(row)})
        return redirect(self.declaration.row_route, id)


class ClientPage(CustomerPage):
    """A client, with its deals, contacts, tasks, suggestions and votes."""

    declaration = LISTS["client"]

    def panels(self, row: CRMResource) -> dict[str, Any]:
        return {
            **super().panels(row),
            "deals": deals_of(self.request, client_id=row.id),
            "contacts": contacts_of(self.request, row.id),
        }


class ContactPage(CustomerPage):
    """A contact, with its client, deals, tasks, suggestions and votes."""

    declaration = LISTS["contact"]

    actions = {**CustomerPage.actions, "join_list": "join_list", "leave_list": "leave_list"}

    def panels(self, row: CRMResource) -> dict[str, Any]:
        return {
            **super().panels(row),
            "deals": deals_of(self.request, contact_id=row.id),
            "contact_lists": contact_lists_of(self.request, row.id),
        }

    def join_list(self, id: int) -> HttpResponse:
        return self.change_lists(id, ACTIONS["add_to_contact_list"])

    def leave_list(self, id: int) -> HttpResponse:
        return self.change_lists(id, ACTIONS["remove_from_contact_list"])

    def change_lists(self, id: int, action: Action) -> HttpResponse:
        account, user = self.request.account, self.request.user

        def act() -> None:
            sent = {"contact_list_id": parse_id(self.request.POST.get("contact_list_id"))}
            list_id = action.read(sent, self.declaration.resource, account, user)
            row = get_object_or_404(action.prepare(self.rows().live().locked()), id=id)  # type: ignore[attr-defined]
            row.account = account
            action.apply([row], list_id, by=user)

        self.perform(act)
        return redirect(self.declaration.row_route, id)


class DealPage(RecordPage):
    """A deal, with the path of its stages and its client. `team.board.pages` moves it."""

    declaration = LISTS["deal"]

    def panels(self, row: Any) -> dict[str, Any]:
        return {**super().panels(row), **stages_of(self.request, row), "external_ids": external_ids_of(row)}
