"""The team's tools on a post's page: its status and the response, where it belongs, merging."""

import hashlib
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import OuterRef, Q, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

from accounts.models import Status
from accounts.pages.forms import Form
from accounts.pages.settings import parse_id
from accounts.roles import ASSIGNABLE
from accounts.templatetags.statuses import status_name
from core.api import throttling
from core.api.fields import MAX_TEXT_LENGTH, TagsField
from core.db.text import replace_non_xml
from core.error_responses import error_response
from core.errors import FieldError, FieldErrors
from core.pages.base import no_content, redirect
from core.search.queries import MAX_QUERY_LENGTH
from forum.api.serializers import PostSerializer
from forum.models import Post
from forum.pages.base import ForumPage, KeepingPage

# Of the tags in use, so many are offered; of what is found, and of what was merged into a post, so much is shown.
TAGS_OFFERED, FOUND, DUPLICATES = 200, 10, 50

DELETED = gettext_lazy("This suggestion was deleted. An admin can restore it from the trash.")
# What the team reads in place of the errors of a post, by field and code.
MESSAGES = {
    ("post", "gone"): DELETED,
    ("post", "merged"): gettext_lazy("This suggestion was merged into another one. Go on there, or undo that first."),
    ("post", "not_merged"): gettext_lazy("This suggestion is not merged into another one."),
    ("post", "merged_further"): gettext_lazy(
        "The suggestion that it was merged into was itself merged into another one. Undo that first."
    ),
    ("duplicate_from_id", "itself"): gettext_lazy("A suggestion can't be merged into itself."),
    ("duplicate_from_id", "gone"): gettext_lazy("The suggestion that you chose was deleted. Choose another one."),
    ("duplicate_from_id", "merged"): gettext_lazy(
        "The suggestion that you chose was itself merged into another one. Choose that one."
    ),
    ("duplicate_from_id", "elsewhere"): gettext_lazy("The suggestion that you chose is in another forum."),
    ("duplicate_from_id", "open"): gettext_lazy(
        "A private suggestion can't be merged into one that everyone sees: everyone could read its comments."
    ),
    ("post", "approved"): gettext_lazy(
        "This suggestion was approved in the meantime. You can still delete it on its page."
    ),
    ("post", "changed"): gettext_lazy(
        "This suggestion was changed after you opened the page. Read it as it is now, then approve it."
    ),
    ("client_id", "gone"): gettext_lazy("This client no longer exists."),
    ("contact_id", "gone"): gettext_lazy("This contact no longer exists."),
}


class Deleted(Http404):
    """The post is in the trash, where somebody has put it meanwhile."""


class TeamPage(ForumPage):
    """A page for the team. What is done on it is sent to itself, with `do` saying which of its acts is meant."""

    access = "team"
    # What may be done: the value of `do`, and the method.
    actions: dict[str, str] = {}

    def dispatch(self, request: HttpRequest, *args, **kwargs) -> HttpResponse:
        try:
            return super().dispatch(request, *args, **kwargs)
        except Deleted:
            messages.error(request, DELETED)
            return redirect("forum-home")

    def post(self, request, **kwargs) -> HttpResponse:
        act = self.actions.get(request.POST.get("do", ""))
        return error_response(request, 400) if act is None else getattr(self, act)(request, **kwargs)

    def describe(self, error: FieldError) -> str:
        return str(MESSAGES.get((error.field, error.code)) or super().describe(error))

    @property
    def posts(self):
        """Those of the forum, whether they are in the trash or not."""
        return self.request.account.posts.of_forum(self.request.forum.id).without_tasks()

    def find(self, id: int) -> Post:
        """The post, with what the tools show beside it."""
        originals = self.request.account.posts.filter(id=OuterRef("duplicate_from_id"))
        posts = self.posts.annotate(original_title=Subquery(originals.values("title")))
        return self.there(posts.filter(id=id).first())

    def hold(self, id: int) -> Post:
        """The post, held until the transaction ends."""
        return self.there(self.posts.locked().filter(id=id).first())

    @staticmethod
    def there(post: Post | None) -> Post:
        if post is None:
            raise Http404
        if post.trashed_at is not None:
            raise Deleted
        return post

    def write_post(self, post: Post, given: dict[str, Any]) -> None:
        """Change what is given, by the rules of the interface. The post is held."""
        serializer = PostSerializer(post, data=given, context={"account": self.request.account}, partial=True)
        post.write(serializer.read(), by=self.request.user)

    def looked_for(self) -> str:
        is_sent = self.request.method == "POST"
        q = replace_non_xml((self.request.POST if is_sent else self.request.GET).get("q", ""))[
            :MAX_QUERY_LENGTH
        ].strip()
        if q and not is_sent:
            # What is sent is counted anyway.
            throttling.count_search(self.request)
        return q


class KeepingTeamPage(KeepingPage, TeamPage):
    """A page for the team with a text that must not be lost, whichever of its acts it was sent for."""

    def write(self, **kwargs) -> HttpResponse:
        return TeamPage.post(self, self.request, **kwargs)

    def show_again(self, status: int, **kwargs) -> HttpResponse:
        if self.sign_in_form is None:
            response = self.show_sent(**kwargs)
            response.status_code = status
            return response
        # A visitor is told nothing but what was sent.
        texts, sent = self.texts(), self.request.POST
        but = {"csrfmiddlewaretoken", *self.sign_in_form.fields, *(field.html_name for field in texts)}
        hidden = [(name, value) for name, values in sent.lists() if name not in but for value in values]
        return self.render("forum/team_resubmit.html", http_status=status, texts=texts, hidden=hidden)

    def show_sent(self, **kwargs) -> HttpResponse:
        """The page, with the form as it was sent."""
        raise NotImplementedError

    def texts(self) -> list[forms.BoundField]:
        """The fields of what was sent that one has typed at length."""
        raise NotImplementedError


def as_sent(text: str | None) -> str:
    """A text as it comes back from a form, whose browser ends lines in its own way."""
    return (text or "").replace("\r\n", "\n").strip()


def digest_of(text: str | None) -> str:
    return hashlib.sha256(as_sent(text).encode(errors="surrogatepass")).hexdigest()[:16]


class StatusForm(Form):
    """Whoever has it open in another tab sends back what was there before: so only what was changed is written."""

    status_id = forms.TypedChoiceField(label=gettext_lazy("Status"), coerce=int, show_hidden_initial=True)
    response = forms.CharField(
        label=gettext_lazy("Official response"),
        required=False,
        max_length=MAX_TEXT_LENGTH,
        help_text=gettext_lazy("Shown above the comments. You can use Markdown. Empty it to take the response back."),
        widget=forms.Textarea(attrs={"rows": 6}),
    )
    # Which response was there when it was opened.
    seen = forms.CharField(required=False, max_length=16, widget=forms.HiddenInput)

    def __init__(self, *args, post: Post, statuses: list[Status], **kwargs):
        shown = {"status_id": post.status_id, "response": post.response or "", "seen": digest_of(post.response)}
        super().__init__(*args, initial=shown, auto_id="status-%s", **kwargs)
        self.fields["status_id"].choices = [(status.id, status_name(status)) for status in statuses]

    def clean_response(self) -> str:
        return as_sent(self.cleaned_data["response"])

    def changes(self, post: Post) -> dict[str, Any]:
        """What is to be written; the post is held. Raises ValidationError where somebody else has answered meanwhile."""
        changes = {}
        if "status_id" in self.changed_data and self.cleaned_data["status_id"] != post.status_id:
            changes["status_id"] = self.cleaned_data["status_id"]
        response, seen = self.cleaned_data["response"], self.cleaned_data["seen"]
        if digest_of(response) != seen and response != as_sent(post.response):
            if digest_of(post.response) != seen:
                # What is sent once more replaces it.
                self.data = self.data.copy()
                self.data["seen"] = digest_of(post.response)
                words = _("Somebody else changed it in the meantime, to: “%(text)s”. Send yours again to replace that")
                raise forms.ValidationError(words % {"text": (post.response or "")[:500]})
            changes["response"] = response or None
        return changes


TAG_ERRORS = {
    "too_many": ngettext_lazy("At most %d tag is allowed", "At most %d tags are allowed", TagsField.MAX_TAGS)
    % TagsField.MAX_TAGS,
    "too_long": ngettext_lazy(
        "Each can have at most %d character", "Each can have at most %d characters", TagsField.MAX_TAG_LENGTH
    )
    % TagsField.MAX_TAG_LENGTH,
}


class PlaceForm(Form):
    """As `StatusForm`: only what was changed is written."""

    category_id = forms.TypedChoiceField(label=gettext_lazy("Category"), coerce=int, show_hidden_initial=True)
    tags = forms.CharField(
        label=gettext_lazy("Tags"),
        required=False,
        max_length=8000,
        show_hidden_initial=True,
        help_text=gettext_lazy("Separated by commas."),
        widget=forms.TextInput(attrs={"list": "tags-in-use", "data-tags": "", "autocomplete": "off"}),
    )
    responsible_id = forms.TypedChoiceField(
        label=gettext_lazy("Responsible"), required=False, coerce=int, empty_value=None, show_hidden_initial=True
    )
    private = forms.BooleanField(
        label=gettext_lazy("Private: only its author and the team can see it"), required=False, show_hidden_initial=True
    )

    def __init__(self, *args, post: Post, categories, team, **kwargs):
        shown = {name: getattr(post, name) for name in ("category_id", "responsible_id", "private")}
        super().__init__(*args, initial=shown | {"tags": ", ".join(post.tags)}, auto_id="place-%s", **kwargs)
        self.fields["category_id"].choices = [(category.id, category.name) for category in categories]
        self.fields["responsible_id"].choices = [("", _("Nobody")), *((id, name or login) for id, name, login in team)]

    def clean_tags(self) -> list[str]:
        try:
            return TagsField().run_validation(self.cleaned_data["tags"])
        except FieldError as error:
            raise forms.ValidationError(
                TAG_ERRORS.get(error.code) or _("Has characters that can't be stored")
            ) from None

    def clean(self):
        values = super().clean()
        return {name: value for name, value in values.items() if name in self.changed_data}


class ToolsPage(KeepingTeamPage):
    """All of the tools: beside the post, where htmx puts them, and else as a page of their own.

    What htmx asks for unasked may be answered when somebody has already deleted the post there, or signed out: so that
    answer leads nowhere and says nothing, or it would take the place of the page that they are on the way to. The links
    stay, and tell whoever follows one.
    """

    template_name = "forum/team_page.html"
    actions = {"status": "change_status", "place": "change_place"}

    def get(self, request, id: int) -> HttpResponse:
        try:
            post = self.find(id)
        except Deleted:
            if request.htmx:
                return no_content()
            raise
        return self.show(post, tool=request.GET.get("tool", ""))

    def show_sent(self, id: int) -> HttpResponse:
        make = {"status": self.status_form, "place": self.place_form}.get(self.request.POST.get("do", ""))
        if make is None:
            return error_response(self.request, 400)
        post = self.find_to_change(id)
        return self.show(post, **{self.request.POST["do"]: make(post, self.request.POST)})

    def texts(self) -> list[forms.BoundField]:
        sent = self.request.POST
        return [StatusForm(sent, post=Post(), statuses=[])["response"]] if "response" in sent else []

    def show(self, post: Post, *, tool: str = "", **sent: Form) -> HttpResponse:
        """With the form that was sent and is not right yet, if one was."""
        request, account = self.request, self.request.account
        shown = {
            "status": sent.get("status") or self.status_form(post),
            "place": sent.get("place") or self.place_form(post),
        }
        duplicates = account.posts.live().filter(duplicate_from_id=post.id).order_by("id")
        context = {
            "section": "suggestions",
            "post": post,
            "tool": next(iter(sent), tool),
            "forms": shown,
            "tags": [tag["name"] for tag in account.tags.in_use("post")[:TAGS_OFFERED]],
            "duplicates": list(duplicates.values_list("id", "title")[:DUPLICATES]),
        }
        template = "forum/team_tools.html" if request.htmx else None
        return self.render(template, http_status=422 if sent else 200, **context)

    def status_form(self, post: Post, *sent) -> StatusForm:
        statuses = self.request.account.statuses_of_kind(Status.Kind.POST)
        return StatusForm(*sent, post=post, statuses=list(statuses))

    def place_form(self, post: Post, *sent) -> PlaceForm:
        account = self.request.account
        # Whoever is responsible stays it, even if not of the team any more, until somebody else is chosen.
        team = account.users.filter(Q(**ASSIGNABLE) | Q(id=post.responsible_id)).order_by("name", "id")
        categories = account.categories.of_forum(self.request.forum.id)
        return PlaceForm(*sent, post=post, categories=categories, team=team.values_list("id", "name", "login"))

    def find_to_change(self, id: int) -> Post:
        """The post; where it was deleted meanwhile it is found too, so that what was typed is not lost."""
        try:
            return self.find(id)
        except Deleted:
            return self.posts.get(id=id)

    def change_status(self, request, id: int) -> HttpResponse:
        post = self.find_to_change(id)
        form = self.status_form(post, request.POST)

        def act() -> None:
            held = self.hold(id)
            if changes := form.changes(held):
                self.write_post(held, changes)

        try:
            done = form.is_valid() and self.submit_form(form, act)
        except Deleted:
            form.add_error(None, DELETED)
            done = False
        except forms.ValidationError as meanwhile:
            form.add_error("response", meanwhile)
            done = False
        return self.saved(id) if done else self.show(post, status=form)

    def change_place(self, request, id: int) -> HttpResponse:
        post = self.find(id)
        form = self.place_form(post, request.POST)

        def act() -> None:
            held = self.hold(id)
            if form.cleaned_data:
                self.write_post(held, dict(form.cleaned_data))

        if not form.is_valid() or not self.submit_form(form, act):
            return self.show(post, place=form)
        return self.saved(id)

    def saved(self, id: int) -> HttpResponse:
        messages.success(self.request, _("Saved."))
        # A duplicate's page leads on to the original's, unless asked not to.
        is_merged = self.posts.filter(id=id, duplicate_from_id__isnull=False).exists()
        return redirect("forum-post", id, query={"original": 0} if is_merged else None)


class MergePage(TeamPage):
    """The search for the original, what merging will do, and both ways."""

    template_name = "forum/merge.html"
    actions = {"merge": "merge", "undo": "undo"}

    def get(self, request, id: int) -> HttpResponse:
        q = self.looked_for()
        if request.htmx:
            return self.render("forum/merge_found.html", id=id, q=q, found=self.search(q, id))
        post = self.find(id)
        into, original = request.GET.get("into"), None
        if into is not None:
            original = self.posts.live().filter(id=parse_id(into) or 0, duplicate_from_id=None).exclude(id=id).first()
            if original is None:
                messages.error(request, _("There is no such suggestion to merge it into."))
        found = self.search(q, id) if original is None else []
        return self.render(section="suggestions", post=post, original=original, id=id, q=q, found=found)

    def search(self, q: str, id: int) -> list[tuple]:
        """The posts of a title, or of an id."""
        account, forum_id, columns = self.request.account, self.request.forum.id, ("id", "title", "votes_cache")
        if not q:
            return []
        rows = []
        if wanted := parse_id(q.removeprefix("#")):
            rows = list(self.posts.listed_for(self.request.user).filter(id=wanted).values_list(*columns))
        if not rows:
            given = {"account": account, "forum_id": forum_id, "start": 0, "size": FOUND + 1}
            rows = Post.objects.search(q, self.request.user, columns, **given)
        return [row for row in rows if row[0] != id][:FOUND]

    def merge(self, request, id: int) -> HttpResponse:
        post = self.find(id)
        into = parse_id(request.POST.get("into"))
        original = self.posts.filter(id=into or 0).first()
        if original is None:
            messages.error(request, _("Choose the suggestion to merge it into."))
            return redirect("forum-post-merge", id)

        def act() -> None:
            try:
                post.merge_into(original, by=request.user)
            except FieldErrors:
                # Somebody, or a second click, was first: it is done.
                if post.duplicate_from_id != original.id:
                    raise
            except Post.DoesNotExist:
                raise Http404 from None

        done = _("“%(title)s” is merged into this suggestion.") % {"title": post.title}
        if self.perform(act, done=done):
            return redirect("forum-post", original.id)
        return redirect("forum-post-merge", id)

    def undo(self, request, id: int) -> HttpResponse:
        post = self.find(id)

        def act() -> None:
            try:
                post.undo_merge(by=request.user)
            except Post.DoesNotExist:
                raise Http404 from None

        done = _("This suggestion stands on its own again, with its own votes and comments.")
        return redirect("forum-post" if self.perform(act, done=done) else "forum-post-merge", id)
