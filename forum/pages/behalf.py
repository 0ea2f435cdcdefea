"""Votes and suggestions that the team records on behalf of customers: of clients and contacts."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet, Value
from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Account
from accounts.pages.forms import Form
from core.api.fields import MAX_TEXT_LENGTH, lock_ids
from core.db import locks
from core.errors import FieldError
from core.pages.base import redirect
from core.registry import registry
from core.search.queries import search, search_transaction
from forum.api.serializers import PostSerializer
from forum.api.views import agent_of
from forum.models import Post
from forum.pages.team import FOUND, KeepingTeamPage, TeamPage, as_sent

VOTES = 100
# The same suggestion, sent again within this time, is taken for a double click.
AT_ONCE = timedelta(minutes=1)


@dataclass(frozen=True)
class Customer:
    """A row of a resource that is registered as a customer. `value` stands for it in forms."""

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
        """Return the customer that a form names, without a name; None if `value` is malformed."""
        match = re.fullmatch(r"([a-z_]+)-([0-9]{1,18})", value or "", re.ASCII)
        is_customer = match and match[1] in {resource.key for resource in registry.customers()}
        return cls(match[1], int(match[2])) if is_customer else None

    def rows(self, account: Account) -> QuerySet:
        return registry.get(self.kind).rows_of(account).live().filter(id=self.id)

    def find(self, account: Account) -> "Customer | None":
        """Return the customer with its name, or None if the account has no such row."""
        row = self.rows(account).values_list("name", "email").first()
        return row and Customer(self.kind, self.id, *row)


def customers(account: Account, text: str) -> list[Customer]:
    """Return the customers that a search finds, resource by resource."""
    if not text:
        return []
    ids, sides = [], []
    with search_transaction(account.id, text) as query:
        for resource in registry.customers():
            rows = resource.rows_of(account).live()
            # Without similar words, because the search runs again at every letter.
            some = search(rows, query, enough=FOUND, fuzzy=False)[:FOUND]
            ids += some
            found = rows.filter(id__in=some).order_by()
            sides.append(found.values_list(Value(resource.key), "id", "name", "email"))
        named = {row[1]: Customer(*row) for row in sides[0].union(*sides[1:], all=True)} if ids else {}
    return [named[id] for id in ids if id in named]


class ProxyVotesPage(TeamPage):
    """The votes that were cast on behalf of customers."""

    template_name = "forum/proxy_votes.html"
    actions = {"find": "look", "cast": "cast", "withdraw": "withdraw"}

    def get(self, request, id: int) -> HttpResponse:
        return self.look(request, id)

    def look(self, request, id: int) -> HttpResponse:
        q = self.looked_for()
        found = customers(request.account, q)
        if request.htmx:
            return self.render("forum/customers.html", q=q, found=found, casts=True)
        post = self.find(id)
        votes = request.account.proxy_votes.of_post(id).with_names()[: VOTES + 1]
        votes = list(votes)
        return self.render(
            section="suggestions", post=post, votes=votes[:VOTES], more=len(votes) > VOTES, q=q, found=found
        )

    def cast(self, request, id: int) -> HttpResponse:
        customer = Customer.read(request.POST.get("customer"))
        customer = customer and customer.find(request.account)
        if customer is None:
            messages.error(request, _("Choose the client or contact whose vote it is."))
            return redirect("forum-proxy-votes", id)

        def act() -> bool:
            return self.hold(id).cast_proxy_vote(by=request.user, **customer.link)

        self.perform(act, done=_("The vote of %(name)s counts.") % {"name": customer.name})
        return redirect("forum-proxy-votes", id)

    def withdraw(self, request, id: int) -> HttpResponse:
        customer = Customer.read(request.POST.get("customer"))
        if customer is not None:
            self.perform(lambda: self.hold(id).withdraw_proxy_vote(**customer.link), done=_("The vote is taken back."))
        return redirect("forum-proxy-votes", id)


class BehalfForm(Form):
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

    def __init__(self, *args, categories, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["category_id"].choices = [(category.id, category.name) for category in categories]

    def clean_content(self) -> str:
        return as_sent(self.cleaned_data["content"])


class NewOnBehalfPage(KeepingTeamPage):
    """The form for a suggestion of a customer. The query of the page may name the customer."""

    template_name = "forum/new_on_behalf.html"
    actions = {"find": "look", "create": "create"}

    def get(self, request) -> HttpResponse:
        if request.htmx:
            q = self.looked_for()
            return self.render("forum/customers.html", q=q, found=customers(request.account, q))
        kinds = [resource.key for resource in registry.customers()]
        named = (Customer.read(f"{kind}-{request.GET.get(kind, '')}") for kind in kinds)
        return self.show(self.form(initial={"counts": True}), next(filter(None, named), None))

    def form(self, *sent, **values) -> BehalfForm:
        return BehalfForm(*sent, categories=self.request.account.categories.of_forum(self.request.forum.id), **values)

    def look(self, request) -> HttpResponse:
        typed = {name: request.POST.get(name, "") for name in BehalfForm.base_fields}
        return self.show(self.form(initial=typed), Customer.read(request.POST.get("customer")))

    def show_sent(self) -> HttpResponse:
        return self.look(self.request)

    def texts(self) -> list[forms.BoundField]:
        form = BehalfForm(self.request.POST, categories=[])
        return [form["title"], form["content"]]

    def show(self, form: BehalfForm, chosen: Customer | None) -> HttpResponse:
        account, q = self.request.account, self.looked_for()
        chosen = chosen and chosen.find(account)
        found = [customer for customer in customers(account, q) if customer != chosen]
        found = [chosen, *found] if chosen else found
        return self.render_form(form, section="suggestions", q=q, found=found, chosen=chosen and chosen.value)

    def create(self, request) -> HttpResponse:
        form, customer = self.form(request.POST), Customer.read(request.POST.get("customer"))
        if customer is None or customer.find(request.account) is None:
            form.add_error(None, _("Choose the client or contact whose suggestion it is."))
        made: list[Post] = []
        if not form.is_valid() or not self.submit_form(
            form, lambda: made.append(self.make(form.cleaned_data, customer))
        ):
            return self.show(form, customer)
        messages.success(request, _("The suggestion is added."))
        return redirect("forum-post", made[-1].id)

    def make(self, values: dict[str, Any], customer: Customer) -> Post:
        """Create the post, or return the same one of a moment ago."""
        account, user = self.request.account, self.request.user
        locks.acquire(("on behalf", account.id, user.id))
        same = account.posts.written_by(user).filter(title=values["title"], content=values["content"], **customer.link)
        if (post := same.filter(created_at__gt=timezone.now() - AT_ONCE).first()) is not None:
            return post
        if not lock_ids(customer.rows(account)):
            raise FieldError("customer", gettext_lazy("no longer exists"), "gone")
        given = {name: values[name] for name in ("title", "content", "category_id")}
        serializer = PostSerializer(data=given, context={"account": account})
        accepted = serializer.read()
        post = Post(account=account, agent=agent_of(self.request))
        post.write({**accepted, **customer.link}, by=user)
        if values["counts"]:
            post.cast_proxy_vote(by=user, **customer.link)
        return post
