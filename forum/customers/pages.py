"""Votes and suggestions that the team records on behalf of customers: of clients and contacts."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.db.models import QuerySet, Value
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.account.models import Account
from accounts.layout.forms import Form
from accounts.users.models import User
from core.api.fields import MAX_TEXT_LENGTH, lock_ids
from core.errors import Conflict, FieldError
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation
from core.registry import Resource, registry
from core.rows.trash import TrashableQuerySet, limit
from core.search.queries import search, search_transaction
from forum.categories.models import Category
from forum.forums.requests import ForumUserRequest, agent_of
from forum.posts.api import PostSerializer
from forum.posts.models import Post
from forum.team_tools.pages import (
    MAX_FOUND,
    ForumTeamPage,
    ResubmittableTeamPage,
    normalize_text,
    serializer_context,
)
from forum.texts.slugs import post_path

MAX_VOTES = 100
# The fields of the form that are fields of the suggestion.
POST_FIELDS = ("title", "content", "category_id")


@dataclass(frozen=True)
class Customer:
    """A row of a resource that is registered as a customer. Forms name it by `value`."""

    kind: str
    id: int
    name: str = ""
    email: str | None = None

    @property
    def value(self) -> str:
        return f"{self.kind}-{self.id}"

    @property
    def link(self) -> dict[str, int]:
        return {f"{self.kind}_id": self.id}

    @classmethod
    def read(cls, value: str | None) -> "Customer | None":
        """Return the customer that the form value stands for, without its name, or None if the value is malformed."""
        match = re.fullmatch(r"([a-z_]+)-([0-9]{1,18})", value or "", re.ASCII)
        kinds = {resource.key for resource in registry.customers()}
        return cls(match[1], int(match[2])) if match and match[1] in kinds else None

    def rows(self, user: User) -> QuerySet[Any]:
        return accessible_rows(registry[self.kind], user).filter(id=self.id)

    def find(self, user: User) -> "Customer | None":
        """Return the customer with its name, or None if the user can't access such a row."""
        row = self.rows(user).values_list("name", "email").first()
        return row and Customer(self.kind, self.id, *row)


def live_rows(resource: Resource, account: Account) -> TrashableQuerySet[Any]:
    return cast(TrashableQuerySet[Any], resource.rows_of(account)).live()


def accessible_rows(resource: Resource, user: User) -> TrashableQuerySet[Any]:
    rows: TrashableQuerySet[Any] = limit(live_rows(resource, user.account), user.access)
    return rows


def search_customers(user: User, text: str) -> list[Customer]:
    """Return the customers that a search of the user finds, grouped by resource."""
    if not text:
        return []
    ids: list[int] = []
    queries: list[QuerySet[Any, Any]] = []
    with search_transaction(user.account_id, text) as query:
        for resource in registry.customers():
            rows = accessible_rows(resource, user)
            # The search leaves out similar words, because it runs after every key press.
            list_rows = live_rows(resource, user.account)
            found_ids = search(rows, query, list_rows=list_rows, enough=MAX_FOUND, fuzzy=False)[:MAX_FOUND]
            ids += found_ids
            found = rows.filter(id__in=found_ids).order_by()
            queries.append(found.values_list(Value(resource.key), "id", "name", "email"))
        customers_by_id = {row[1]: Customer(*row) for row in queries[0].union(*queries[1:], all=True)} if ids else {}
    return [customers_by_id[id] for id in ids if id in customers_by_id]


class ProxyVotesPage(ForumTeamPage):
    """The votes on behalf of customers: the list, and forms to add and withdraw them."""

    template_name = "forum/customers/proxy_votes.html"
    actions = {"find": "get", "cast": "cast", "withdraw": "withdraw"}

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        q = self.read_query()
        found = search_customers(request.user, q)
        if request.htmx:
            return self.render("forum/customers/customers.html", q=q, found=found, offers_vote=True)
        post = self.find(id)
        votes = list(request.account.proxy_votes.of_post(id).accessible_to(request.user).with_names()[: MAX_VOTES + 1])
        return self.render(
            section="suggestions", post=post, votes=votes[:MAX_VOTES], more=len(votes) > MAX_VOTES, q=q, found=found
        )

    def cast(self, request: ForumUserRequest, id: int) -> HttpResponse:
        customer = Customer.read(request.POST.get("customer"))
        customer = customer and customer.find(request.user)
        if customer is None:
            messages.error(request, _("Choose the client or contact whose vote it is."))
            return redirect("forum-proxy-votes", id)
        success_message = _("The vote of %(name)s counts.") % {"name": customer.name}
        link = customer.link
        self.perform(lambda: self.lock(id).cast_proxy_vote(by=request.user, **link), success_message=success_message)
        return redirect("forum-proxy-votes", id)

    def withdraw(self, request: ForumUserRequest, id: int) -> HttpResponse:
        customer = Customer.read(request.POST.get("customer"))
        if customer is not None and customer.find(request.user) is not None:
            message = _("The vote is withdrawn.")
            self.perform(lambda: self.lock(id).withdraw_proxy_vote(**customer.link), success_message=message)
        return redirect("forum-proxy-votes", id)


class OnBehalfForm(Form):
    title = forms.CharField(label=gettext_lazy("Title"), max_length=255)
    content = forms.CharField(
        label=gettext_lazy("Details"),
        required=False,
        max_length=MAX_TEXT_LENGTH,
        help_text=gettext_lazy("You can use Markdown."),
        widget=forms.Textarea(attrs={"rows": 6}),
    )
    category_id = forms.TypedChoiceField(label=gettext_lazy("Category"), coerce=int)
    counts = forms.BooleanField(label=gettext_lazy("Count it as their vote, too"), required=False)

    def __init__(self, *args: object, categories: Iterable[Category], **kwargs: object):
        super().__init__(*args, **kwargs)
        self.set_choices("category_id", ((category.id, category.name) for category in categories))

    def clean_content(self) -> str:
        return normalize_text(self.cleaned_data["content"])


class NewPostOnBehalfPage(CreatingPage, ResubmittableTeamPage):
    """The form for a suggestion on behalf of a customer. The query of the URL may name the customer."""

    template_name = "forum/customers/new_on_behalf.html"
    actions = {"find": "show_found_customers", "create": "create"}

    def get(self, request: ForumUserRequest) -> HttpResponse:
        if request.htmx:
            q = self.read_query()
            return self.render("forum/customers/customers.html", q=q, found=search_customers(request.user, q))
        kinds = [resource.key for resource in registry.customers()]
        # A contact is more specific than its client.
        customers = (Customer.read(f"{kind}-{request.GET.get(kind, '')}") for kind in reversed(kinds))
        return self.show(self.form(initial={"counts": True}), next(filter(None, customers), None))

    def form(self, *sent: object, **values: object) -> OnBehalfForm:
        return OnBehalfForm(*sent, categories=self.request.account.categories.of_forum(self.request.forum.id), **values)

    def show_found_customers(self, request: ForumUserRequest) -> HttpResponse:
        values = {name: request.POST.get(name, "") for name in OnBehalfForm.base_fields}
        return self.show(self.form(initial=values), Customer.read(request.POST.get("customer")))

    def show_submitted_form(self) -> HttpResponse:
        return self.show_found_customers(self.request)

    def text_fields(self) -> list[forms.BoundField]:
        form = OnBehalfForm(self.request.POST, categories=[])
        return [form["title"], form["content"]]

    def show(self, form: OnBehalfForm, customer: Customer | None) -> HttpResponse:
        user, q = self.request.user, self.read_query()
        selected = customer and customer.find(user)
        found = [other for other in search_customers(user, q) if other != selected]
        found = [selected, *found] if selected else found
        return self.render_form(
            form, section="suggestions", q=q, found=found, selected_value=selected and selected.value
        )

    def create(self, request: ForumUserRequest) -> HttpResponse:
        form, customer = self.form(request.POST), Customer.read(request.POST.get("customer"))
        if customer is None or customer.find(request.user) is None:
            form.add_error(None, _("Choose the client or contact whose suggestion it is."))
            return self.show(form, customer)
        post = self.create_once(form, self.creation(form, customer), further={"customer": customer.value})
        if post is None:
            return self.show(form, customer)
        messages.success(request, _("The suggestion is added."))
        return redirect(post_path(post.id, post.title))

    def creation(self, form: forms.BaseForm, customer: Customer) -> Creation[Post]:
        request = self.request

        def change(post: Post) -> None:
            if customer != self.customer_of(post):
                raise Conflict(_("A suggestion can't get another customer. Add it as a second entry."))
            self.write_post(post, {name: form.cleaned_data[name] for name in POST_FIELDS})

        def saved(post: Post) -> dict[str, object]:
            return {name: getattr(post, name) for name in POST_FIELDS} | {"counts": form.cleaned_data["counts"]}

        def choices(post: Post) -> list[tuple[str, str, str]]:
            found = [reference and reference.find(request.user) for reference in (self.customer_of(post), customer)]
            saved, sent = (customer.name if customer else "" for customer in found)
            return [(_("Client or contact"), saved, sent)]

        return Creation(
            create=lambda: self.make(form.cleaned_data, customer),
            rows=self.posts.live().locked().filter(duplicate_from_id=None),
            path=lambda post: post_path(post.id, post.title),
            saved=saved,
            change=change,
            choices=choices,
        )

    @staticmethod
    def customer_of(post: Post) -> Customer | None:
        """Return the customer of a suggestion, without its name."""
        links = ((resource.key, getattr(post, f"{resource.key}_id")) for resource in registry.customers())
        return next((Customer(kind, id) for kind, id in links if id is not None), None)

    def make(self, values: dict[str, object], customer: Customer) -> Post:
        account, user = self.request.account, self.request.user
        if not lock_ids(customer.rows(user)):
            raise FieldError("customer", gettext_lazy("no longer exists"), "gone")
        data = {name: values[name] for name in POST_FIELDS}
        validated = PostSerializer(data=data, context=serializer_context(self.request)).read()
        post = Post(account=account, agent=agent_of(self.request))
        post.write({**validated, **customer.link}, by=user)
        if values["counts"]:
            post.cast_proxy_vote(by=user, **customer.link)
        return post
