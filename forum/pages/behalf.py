"""What the team writes down for clients and contacts of the CRM: their votes and their suggestions."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Value
from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework.exceptions import ValidationError

from accounts.models import Account
from accounts.pages.forms import Form
from core.api.fields import TEXT_LENGTH, held
from core.db import locks
from core.pages.base import redirect
from core.search.queries import indexed, search
from forum.api.serializers import PostSerializer
from forum.api.views import agent_of
from forum.models import Post
from forum.pages.team import FOUND, KeepingTeamPage, TeamPage, as_sent

VOTES = 100
# Of the same words sent twice within this time, the second is a double click.
AT_ONCE = timedelta(minutes=1)
THINGS = {"client": "clients", "contact": "contacts"}


@dataclass(frozen=True)
class Customer:
    """A client or a contact; `value` is how a form names it."""

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
        match = re.fullmatch(r"(client|contact)-([0-9]{1,18})", value or "", re.ASCII)
        return match and cls(match[1], int(match[2]))

    def things(self, account: Account):
        return getattr(account, THINGS[self.kind]).live().filter(id=self.id)

    def find(self, account: Account) -> "Customer | None":
        """With its name, if it is there."""
        row = self.things(account).values_list("name", "email").first()
        return row and Customer(self.kind, self.id, *row)


def customers(account: Account, text: str) -> list[Customer]:
    """The clients and the contacts that a search finds, clients first."""
    if not text:
        return []
    ids, sides = [], []
    with indexed(account.id, text) as query:
        for kind, name in THINGS.items():
            things = getattr(account, name).live()
            # With whatever is like it, too, one would wait longer at every letter.
            some = search(things, query, enough=FOUND, loosely=False)[:FOUND]
            ids += some
            sides.append(things.filter(id__in=some).order_by().values_list(Value(kind), "id", "name", "email"))
        named = {row[1]: Customer(*row) for row in sides[0].union(sides[1], all=True)} if ids else {}
    return [named[id] for id in ids if id in named]


class ProxyVotesPage(TeamPage):
    """The votes that were cast on behalf of clients and contacts."""

    template_name = "forum/proxy_votes.html"
    acts = {"find": "look", "cast": "cast", "withdraw": "withdraw"}

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
            return self.hold(id).vote_for(by=request.user, **customer.link)

        self.act(act, done=_("The vote of %(name)s counts.") % {"name": customer.name})
        return redirect("forum-proxy-votes", id)

    def withdraw(self, request, id: int) -> HttpResponse:
        customer = Customer.read(request.POST.get("customer"))
        if customer is not None:
            self.act(lambda: self.hold(id).withdraw_vote_for(**customer.link), done=_("The vote is taken back."))
        return redirect("forum-proxy-votes", id)


class BehalfForm(Form):
    title = forms.CharField(label=gettext_lazy("Title"), max_length=255)
    content = forms.CharField(
        label=gettext_lazy("Details"),
        required=False,
        max_length=TEXT_LENGTH,
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
    """A suggestion of a client or a contact, whom the address may name already."""

    template_name = "forum/new_on_behalf.html"
    acts = {"find": "look", "create": "create"}

    def get(self, request) -> HttpResponse:
        if request.htmx:
            q = self.looked_for()
            return self.render("forum/customers.html", q=q, found=customers(request.account, q))
        named = (Customer.read(f"{kind}-{request.GET.get(kind, '')}") for kind in THINGS)
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
        if not form.is_valid() or not self.fill_form(form, lambda: made.append(self.make(form.cleaned_data, customer))):
            return self.show(form, customer)
        messages.success(request, _("The suggestion is added."))
        return redirect("forum-post", made[-1].id)

    def make(self, values: dict[str, Any], customer: Customer) -> Post:
        """The post; where the same was sent a moment ago, that one."""
        account, user = self.request.account, self.request.user
        locks.hold(("on behalf", account.id, user.id))
        same = account.posts.written_by(user).filter(title=values["title"], content=values["content"], **customer.link)
        if (post := same.filter(created_at__gt=timezone.now() - AT_ONCE).first()) is not None:
            return post
        if not held(customer.things(account)):
            raise ValidationError({"customer": [_("no longer exists")]})
        given = {name: values[name] for name in ("title", "content", "category_id")}
        serializer = PostSerializer(data=given, context={"account": account})
        if found := serializer.faults():
            raise ValidationError(found)
        post = Post(account=account, agent=agent_of(self.request))
        post.write({**serializer.values, **customer.link}, by=user)
        if values["counts"]:
            post.vote_for(by=user, **customer.link)
        return post
