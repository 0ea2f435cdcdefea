"""Saved views: named lists, whose columns, order and filters are stored as a query string.

    view = SavedView(account=account, owner_id=user.id)
    view.write({"resource": "client", "name": "Leads", "query": "status_id=3&sort=name"}, by=user)

A view is private, or shared with the team. Its owner changes it, and an admin changes shared views too (`may_be_changed_by`). A stored
query string is in normal form (`ListQuery.normal_form`). Its fields and values may be gone when the view is opened: `open_view` then
leaves these filters out and names them in `errors`.
"""

from typing import Self

from django.db import models, transaction
from django.db.models import Q
from django.http import QueryDict
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.users.models import User
from core.db.ordering import MAX_POSITION, Ordered
from core.db.prepared import prepared
from core.db.tenancy import TenantModel, foreign_object
from core.db.text import is_xml_text
from core.errors import FieldError, FieldErrors
from core.rows.declared import FieldType
from core.rows.trimmed import TrimmedCharField
from team.fields.names import Names
from team.list_queries.declarations import LISTS
from team.list_queries.queries import PAGE_PARAMETERS, ListQuery

# The numbers of views of a user, and of shared views of an account, over all lists.
MAX_VIEWS_OF_USER, MAX_SHARED_VIEWS = 50, 100
MAX_NAME_LENGTH, MAX_QUERY_LENGTH = 60, 4000

# What a condition on a link names, in the message for a row that is gone.
GONE = {
    FieldType.USER: _("names a user who no longer exists"),
    FieldType.STATUS: _("names a status that was deleted"),
    FieldType.CLIENT: _("names a client that was deleted, or that you may not see"),
    FieldType.CONTACT: _("names a contact that was deleted, or that you may not see"),
    FieldType.DEAL: _("names a deal that was deleted, or that you may not see"),
    FieldType.CATEGORY: _("names a category that was deleted"),
    FieldType.FORUM: _("names a forum that was deleted"),
}
VIEW_GONE = _("was deleted, or is not shared with you")


class SavedViewQuerySet(models.QuerySet["SavedView"]):
    def visible_to(self, user: User) -> Self:
        """Return the views of the user, and those that are shared with the team."""
        return self.filter(Q(owner_id=user.id) | Q(shared=True))

    def in_order(self) -> Self:
        """Sort the views by list. The shared ones of a list come first."""
        return self.order_by("resource", "-shared", "position", "id")

    def locked(self) -> Self:
        return self.select_for_update(no_key=True, of=("self",))


class SavedView(Ordered, TenantModel):
    """A named list of clients, contacts, deals, tasks or contact lists. Its name is unique among the owner's views of the list."""

    class Target(models.TextChoices):
        CLIENT = "client", _("Clients")
        CONTACT = "contact", _("Contacts")
        DEAL = "deal", _("Deals")
        TASK = "task", _("Tasks")
        CONTACT_LIST = "contact_list", _("Contact lists")
        SUGGESTION = "suggestion", _("Suggestions")

    resource = models.CharField(max_length=255, choices=Target.choices)
    name = TrimmedCharField(max_length=MAX_NAME_LENGTH)
    # The query string of the list, in normal form and without a question mark.
    query = models.CharField(max_length=MAX_QUERY_LENGTH, blank=True, default="")
    shared = models.BooleanField(default=False)
    owner_id = models.BigIntegerField(editable=False)
    owner = foreign_object(User, "owner_id")
    # The position among the shared views of the list, or among the private ones of the owner.
    position = models.IntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = SavedViewQuerySet.as_manager()

    class Meta:
        default_related_name = "saved_views"
        constraints = [
            models.UniqueConstraint(fields=["account", "owner_id", "resource", "name"], name="savedview_name_unique")
        ]
        indexes = [
            # The views that the team shares. The constraint has the index of the views of a user.
            models.Index(
                fields=["account", "resource", "position", "id"], name="savedview_shared", condition=Q(shared=True)
            )
        ]

    def __str__(self) -> str:
        return self.name

    def may_be_changed_by(self, user: User) -> bool:
        """Return whether the user may change, move and delete the view: the owner, and an admin if the view is shared."""
        return self.owner_id == user.id or (self.shared and user.is_admin)

    def siblings(self) -> "models.QuerySet[SavedView]":
        rows = self.account.saved_views.filter(resource=self.resource, shared=self.shared)
        return rows if self.shared else rows.filter(owner_id=self.owner_id)

    @transaction.atomic(savepoint=False)
    def write(self, values: dict[str, object], *, by: User) -> None:
        """Insert the view, or update the fields in `values`. A new view, and one that is shared or made private, comes last.

        Raise FieldErrors if the name is taken, if the query is not one of the list, or if there are too many views.
        """
        # Writes of views are rare. The lock makes the limits and the positions exact.
        type(self.account).objects.select_for_update(no_key=True).only("id").get(id=self.account_id)
        is_new, was_shared = self._state.adding, self.shared
        for name, value in values.items():
            setattr(self, name, value)
        errors = [self._check_name()] if "name" in values else []
        # A field may be gone that a stored query names. The view can still be renamed.
        errors += [self._check_query(by)] if is_new or "query" in values else []
        if is_new or self.shared != was_shared:
            errors += self._check_numbers(is_new=is_new)
        if found := [error for error in errors if error is not None]:
            raise FieldErrors(found)
        if "position" not in values and (is_new or self.shared != was_shared):
            last = self.siblings().aggregate(last=models.Max("position"))["last"]
            self.position = min((last or 0) + 1, MAX_POSITION)
        self.updated_at = timezone.now()
        if is_new:
            self.save(force_insert=True)
        else:
            self.save(update_fields={*values, "query", "position", "updated_at"})

    def _check_name(self) -> FieldError | None:
        self.name = " ".join(self.name.split())
        if not self.name:
            return FieldError("name", _("can't be blank"), "blank")
        if len(self.name) > MAX_NAME_LENGTH:
            return too_long("name", MAX_NAME_LENGTH)
        if not is_xml_text(self.name):
            return FieldError("name", _("has characters that can't be stored"), "characters")
        others = self.account.saved_views.filter(owner_id=self.owner_id, resource=self.resource, name=self.name)
        if (others if self._state.adding else others.exclude(id=self.id)).exists():
            return FieldError("name", _("is the name of another view"), "taken")
        return None

    def _check_query(self, user: User) -> FieldError | None:
        """Bring the query into normal form, or return its first error."""
        if len(self.query) > MAX_QUERY_LENGTH:
            return too_long("query", MAX_QUERY_LENGTH)
        parameters = QueryDict(self.query.removeprefix("?"))
        found = ListQuery.read(LISTS[self.resource], parameters, account=self.account, user=user)
        if found.errors:
            return move_into_query(found.errors[0], "query")
        self.query = found.normal_form
        return too_long("query", MAX_QUERY_LENGTH) if len(self.query) > MAX_QUERY_LENGTH else None

    def _check_numbers(self, *, is_new: bool) -> list[FieldError | None]:
        rows = self.account.saved_views
        if is_new and rows.filter(owner_id=self.owner_id).count() >= MAX_VIEWS_OF_USER:
            text = _("can't be saved: you have {most} views already, which is the maximum")
            return [FieldError("view", text, "too_many", {"most": MAX_VIEWS_OF_USER})]
        if self.shared and rows.filter(shared=True).count() >= MAX_SHARED_VIEWS:
            text = _("can't be set: the team shares {most} views already, which is the maximum")
            return [FieldError("shared", text, "too_many", {"most": MAX_SHARED_VIEWS})]
        return []

    @transaction.atomic(savepoint=False)
    def erase(self) -> None:
        # `Model.delete` would empty the primary key, and with it the account.
        self.account.saved_views.filter(id=self.id).delete()


lazy_text = lazy(lambda error: error.text, str)


def move_into_query(error: FieldError, field: str) -> FieldError:
    """Return the error of a parameter as the error of a field that holds a query string or names a view."""
    params = {"parameter": error.field, "error": lazy_text(error)}
    return FieldError(field, _("has {parameter}, which {error}"), "invalid", params)


def too_long(field: str, most: int) -> FieldError:
    return FieldError(field, _("is too long (maximum is {most} characters)"), "too_long", {"most": most})


def views_of(resource: str, *, account: Account, user: User) -> list[SavedView]:
    """Return the views of a list that the user sees, the shared ones first. Their number is limited."""
    views: list[SavedView] = _views(account_id=account.id, user_id=user.id, resource=resource)
    for view in views:
        view.account = account
    return views


@prepared(account_id=int, user_id=int, resource=str)
def _views(account_id: int, user_id: int, resource: str) -> models.QuerySet[SavedView]:
    views = SavedView.objects.filter(account_id=account_id, resource=resource)
    return views.visible_to(User(id=user_id)).in_order()


def open_view(view: SavedView, user: User, query_class: type[ListQuery] = ListQuery) -> ListQuery:
    """Return the list of a view as the user sees it. `errors` names the filters and columns that are gone, which are left out.

    It takes at most two statements, if the filters name other rows.
    """
    query = query_class.read(LISTS[view.resource], QueryDict(view.query), account=view.account, user=user)
    query.view_id = view.id
    leave_out_missing(query)
    return query


def leave_out_missing(query: ListQuery) -> None:
    """Remove the conditions on statuses, users and other rows that no longer exist, and add an error for each of them."""
    account = query.account
    names = Names.read(account, query.user, query.links)
    for condition in query.link_conditions:
        kept = [number for number, value in enumerate(condition.values) if (condition.field.type, value) in names.names]
        if len(kept) < len(condition.values):
            query.leave_out(condition, kept)
            query.errors.append(FieldError(condition.parameter, GONE[condition.field.type], "missing"))
    for name, rows, gone in (
        ("contact_list_id", account.contact_lists.live(), _("names a contact list that was deleted")),
        ("post_id", account.posts.live().without_tasks(), _("names a suggestion that was deleted")),
    ):
        if name in query.special and not rows.filter(id=query.special[name]).exists():
            del query.special[name]
            query.errors.append(FieldError(name, gone, "missing"))


def read_list(
    resource: str,
    parameters: QueryDict,
    query_class: type[ListQuery] = ListQuery,
    *,
    account: Account,
    user: User,
    views: list[SavedView],
) -> ListQuery:
    """Return the list of the URL of a page: that of the saved view `view`, or the one that the other parameters describe.

    `views` are the views of the list that the user sees.
    """
    text = parameters.get("view", "").strip()
    view = find_view(text, resource, account=account, user=user, views=views) if text else None
    # Parameters of the list replace those of its view.
    if view is not None and all(name in PAGE_PARAMETERS for name in parameters):
        return open_view(view, user, query_class)
    query = query_class.read(LISTS[resource], parameters, account=account, user=user, language=get_language())
    if view is not None:
        query.view_id = view.id
    elif text:
        query.errors.append(FieldError("view", VIEW_GONE, "missing"))
    return query


def read_api_list(resource: str, parameters: QueryDict, account: Account, user: User) -> ListQuery:
    """Return the conditions of a list in the Account API: those of the saved view `view`, and the other parameters.

    A filter of the view that is gone is an error here, because a program would not notice that it gets more rows. The code of the error
    of a parameter that no list has is `unknown`.
    """
    conditions = parameters.copy()
    text = conditions.get("view", "").strip()
    conditions.pop("view", None)
    only_of_pages = [name for name in PAGE_PARAMETERS if name in conditions]
    query = ListQuery.read(LISTS[resource], conditions, account=account, user=user)
    query.errors += [FieldError(name, _("is not a filter of this list"), "unknown") for name in only_of_pages]
    if not text:
        return query
    view = find_view(text, resource, account=account, user=user)
    if view is None:
        query.errors.append(FieldError("view", VIEW_GONE, "missing"))
        return query
    opened = open_view(view, user)
    query.errors += [move_into_query(error, "view") for error in opened.errors if error.field != "columns"]
    query.q, query.sort = opened.q, query.sort or opened.sort
    query.conditions += opened.conditions
    query.special = opened.special | query.special
    return query


def find_view(
    text: str, resource: str, *, account: Account, user: User, views: list[SavedView] | None = None
) -> SavedView | None:
    """Return the view with an id, or None if there is no such view of the list that the user sees."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        return None
    if views is not None:
        return next((view for view in views if view.id == int(text)), None)
    view = account.saved_views.visible_to(user).filter(resource=resource, id=int(text)).first()
    if view is not None:
        view.account = account
    return view
