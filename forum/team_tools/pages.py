"""The pages on which the team deals with posts: their base, and the tools for a post, which are status, response, category, tags, and merging."""

import hashlib
from collections.abc import Callable
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.db.models import OuterRef, Q, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

from accounts.attachments.uploading import MAX_FORM_BYTES, take_files
from accounts.layout.forms import Form
from accounts.layout.settings import parse_id
from accounts.roles.models import ASSIGNABLE
from accounts.statuses.models import Status, status_name
from accounts.tags.api import tags_in_use
from core.api.fields import MAX_TEXT_LENGTH, TagsField
from core.db.text import replace_non_xml
from core.error_responses import error_response
from core.errors import Conflict, FieldError, FieldErrors
from core.http import throttling
from core.pages.base import no_content, redirect, referring_path, safe_path
from core.search.queries import MAX_QUERY_LENGTH
from forum.forums.pages.base import ForumPage, ResubmittablePage
from forum.forums.requests import ForumRequest, ForumUserRequest
from forum.lists.queries import PostQuerySet
from forum.lists.whole_forum import ForumList
from forum.posts.api import PostSerializer
from forum.posts.merging import MAX_COUNTED_FOLLOWERS
from forum.posts.models import Post
from forum.texts.slugs import post_path

# The number of search results.
MAX_FOUND = 10

DELETED = gettext_lazy("This suggestion was deleted. An admin can restore it from the trash.")


# Messages for errors of the models, by field and code.
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
    ("comment", "approved"): gettext_lazy(
        "This comment was approved in the meantime. You can still delete it on its page."
    ),
    ("comment", "changed"): gettext_lazy(
        "This comment was changed after you opened the page. Read it as it is now, then approve it."
    ),
    ("comment", "gone"): gettext_lazy("This comment was deleted in the meantime."),
    ("report", "gone"): gettext_lazy("This text was deleted in the meantime."),
    ("report", "changed"): gettext_lazy("This text was changed after you opened the page. Read it as it is now."),
    ("client_id", "gone"): gettext_lazy("This client no longer exists."),
    ("contact_id", "gone"): gettext_lazy("This contact no longer exists."),
}


def serializer_context(request: ForumUserRequest) -> dict[str, object]:
    """Return the context of a serializer, as the Account API has it."""
    return {"account": request.account, "access": request.user.access}


class PostInTrash(Http404):
    """The post is in the trash. It may have been moved there after the page was opened."""


def refuse_trashed(post: Post) -> Post:
    if post.trashed_at is not None:
        raise PostInTrash
    return post


class ForumTeamPage(ForumPage):
    """A page for the team. Its forms are submitted to its own URL, with the name of an action in `do`."""

    request: ForumUserRequest
    access = "team"
    # The method for each value of `do`.
    actions: dict[str, str] = {}

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        try:
            return super().dispatch(request, *args, **kwargs)
        except PostInTrash:
            messages.error(request, DELETED)
            return redirect("forum-suggestions")

    def post(self, request: ForumRequest, **kwargs: Any) -> HttpResponse:
        act = self.actions.get(request.POST.get("do", ""))
        return error_response(request, 400) if act is None else getattr(self, act)(request, **kwargs)

    def describe(self, error: FieldError) -> str:
        return str(MESSAGES.get((error.field, error.code)) or super().describe(error))

    @property
    def posts(self) -> PostQuerySet:
        """The posts of the forum, including those in the trash."""
        return self.request.account.posts.of_forum(self.request.forum.id).without_tasks()

    @property
    def back(self) -> str:
        """The path of the page that follows, such as the inbox with the next suggestion, or ""."""
        back = self.request.POST.get("back") or self.request.GET.get("back")
        return safe_path(self.request, back, "/") if back else ""

    def find(self, id: int) -> Post:
        """Return the post, annotated with the title of the original that it was merged into. Raise Http404 or PostInTrash."""
        originals = self.request.account.posts.filter(id=OuterRef("duplicate_from_id"))
        posts = self.posts.annotate(original_title=Subquery(originals.values("title")))
        return refuse_trashed(get_object_or_404(posts, id=id))

    def lock(self, id: int) -> Post:
        """Return the post, locked until the transaction ends. Raise Http404 or PostInTrash."""
        return refuse_trashed(get_object_or_404(self.posts.locked(), id=id))

    def write_post(self, post: Post, data: dict[str, object], **options: bool) -> None:
        """Validate the values as the Account API does, and write them with the options of `Post.write`. The caller must have locked the post."""
        serializer = PostSerializer(post, data=data, context=serializer_context(self.request), partial=True)
        post.write(serializer.read(), by=self.request.user, **options)

    def read_query(self) -> str:
        """Return the text of the search. A search by GET counts against the limit of searches; a POST request was counted before."""
        is_post = self.request.method == "POST"
        q = (self.request.POST if is_post else self.request.GET).get("q", "")
        q = replace_non_xml(q)[:MAX_QUERY_LENGTH].strip()
        if q and not is_post:
            throttling.count_search(self.request)
        return q


class ResubmittableTeamPage(ResubmittablePage, ForumTeamPage):
    """A page for the team that shows its form again as it was submitted, if the session has ended meanwhile."""

    # Return the page with the form as it was submitted. The arguments are those of the path.
    show_submitted_form: Callable[..., HttpResponse]
    # Return the submitted fields with long texts, which the page shows. All other values are hidden inputs.
    text_fields: Callable[[], list[forms.BoundField]]

    def process_form(self, **kwargs: Any) -> HttpResponse:
        return ForumTeamPage.post(self, self.request, **kwargs)

    def show_submitted(self, status: int, **kwargs: Any) -> HttpResponse:
        if self.sign_in_form is None:
            response = self.show_submitted_form(**kwargs)
            response.status_code = status
            return response
        # The user is signed out, so the page shows only the submitted values, and nothing of the post.
        texts, data = self.text_fields(), self.request.POST
        excluded = {"csrfmiddlewaretoken", *self.sign_in_form.fields, *(field.html_name for field in texts)}
        hidden = [(name, value) for name, values in data.lists() if name not in excluded for value in values]
        return self.render("forum/team_tools/team_resubmit.html", http_status=status, texts=texts, hidden=hidden)


def normalize_text(text: str | None) -> str:
    """Strip the text and convert its line ends to LF. A text that a browser submits unchanged then equals the stored text."""
    return (text or "").replace("\r\n", "\n").strip()


# The numbers of tags that are suggested, and of duplicates that are shown.
MAX_TAGS_OFFERED, MAX_DUPLICATES = 200, 50


def digest(text: str | None) -> str:
    return hashlib.sha256(normalize_text(text).encode(errors="surrogatepass")).hexdigest()[:16]


class PostStatusForm(Form):
    """The form for the status and the official response.

    Only changed fields are written, so an old form in another tab does not undo other changes.
    """

    status_id = forms.TypedChoiceField(label=gettext_lazy("Status"), coerce=int, show_hidden_initial=True)
    response = forms.CharField(
        label=gettext_lazy("Official response"),
        required=False,
        max_length=MAX_TEXT_LENGTH,
        help_text=gettext_lazy("Correct it here, or empty it to withdraw it. A new one is written above the comments."),
        widget=forms.Textarea(attrs={"rows": 6}),
    )
    # The digest of the response when the form was opened.
    seen = forms.CharField(required=False, max_length=16, widget=forms.HiddenInput)

    def __init__(self, *args: object, post: Post, statuses: list[Status], **kwargs: object):
        initial = {"status_id": post.status_id, "response": post.response or "", "seen": digest(post.response)}
        super().__init__(*args, initial=initial, auto_id="status-%s", **kwargs)
        self.set_choices("status_id", ((status.id, status_name(status)) for status in statuses))

    def clean_response(self) -> str:
        return normalize_text(self.cleaned_data["response"])

    def changes(self, post: Post) -> dict[str, object]:
        """Return the changed values. The post must be locked. Raise ValidationError if somebody else has changed the response."""
        changes = {}
        if "status_id" in self.changed_data and self.cleaned_data["status_id"] != post.status_id:
            changes["status_id"] = self.cleaned_data["status_id"]
        response, seen = self.cleaned_data["response"], self.cleaned_data["seen"]
        if digest(response) != seen and response != normalize_text(post.response):
            if digest(post.response) != seen:
                # If the user submits the form again, the new response replaces the one of somebody else.
                self.replace_data("seen", digest(post.response))
                text = _("Somebody else changed it in the meantime, to: “%(text)s”. Send yours again to replace that")
                raise forms.ValidationError(text % {"text": (post.response or "")[:500]})
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
    """The form for category, tags, responsible user, privacy and target day. As in `PostStatusForm`, only changed fields are written."""

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

    target_on = forms.DateField(
        label=gettext_lazy("Planned for"),
        required=False,
        show_hidden_initial=True,
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        help_text=gettext_lazy("Everyone sees it while the status is on the roadmap."),
    )
    target_is_quarter = forms.BooleanField(
        label=gettext_lazy("Show only the quarter of this day"), required=False, show_hidden_initial=True
    )

    def __init__(self, *args: object, request: ForumUserRequest, post: Post, **kwargs: object):
        names = ("category_id", "responsible_id", "private", "target_on", "target_is_quarter")
        initial = {name: getattr(post, name) for name in names}
        super().__init__(*args, initial=initial | {"tags": ", ".join(post.tags)}, auto_id="place-%s", **kwargs)
        categories = request.account.categories.of_forum(request.forum.id)
        self.set_choices("category_id", ((category.id, category.name) for category in categories))
        # The responsible user remains a choice after they have left the team.
        team = request.account.users.filter(Q(**ASSIGNABLE) | Q(id=post.responsible_id)).order_by("name", "id")
        people = [(id, name or login) for id, name, login in team.values_list("id", "name", "login")]
        self.set_choices("responsible_id", [("", _("Nobody")), *people])

    def clean_tags(self) -> list[str]:
        try:
            return cast("list[str]", TagsField().run_validation(self.cleaned_data["tags"]))
        except FieldError as error:
            message = TAG_ERRORS.get(error.code) or _("Has characters that can't be stored")
            raise forms.ValidationError(message) from None

    def clean(self) -> dict[str, object]:
        values = super().clean()
        if "target_on" in values:
            values["target_on"] = values["target_on"] and values["target_on"].isoformat()
        return {name: value for name, value in values.items() if name in self.changed_data}


class ToolsPage(ResubmittableTeamPage):
    """All tools, as a fragment that htmx loads into the page of the post, or as a page of its own.

    htmx loads the tools without a click, maybe while the browser already navigates to another page. So if the post is in the trash, or
    the user has signed out, the request of htmx gets an empty response without a redirect or a message.
    """

    template_name = "forum/team_tools/team_page.html"
    actions = {"status": "change_status", "place": "change_place"}
    max_body_bytes = MAX_FORM_BYTES

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        try:
            post = self.find(id)
        except PostInTrash:
            if request.htmx:
                return no_content()
            raise
        return self.show(post, tool=request.GET.get("tool", ""))

    def show_submitted_form(self, id: int) -> HttpResponse:
        make_form = self.form_makers.get(self.request.POST.get("do", ""))
        if make_form is None:
            return error_response(self.request, 400)
        post = self.find_even_if_trashed(id)
        submitted: dict[str, Any] = {self.request.POST["do"]: make_form(post, self.request.POST)}
        return self.show(post, **submitted)

    @property
    def form_makers(self) -> dict[str, Callable[..., Form]]:
        return {"status": self.status_form, "place": self.place_form}

    def text_fields(self) -> list[forms.BoundField]:
        data = self.request.POST
        return [PostStatusForm(data, post=Post(), statuses=[])["response"]] if "response" in data else []

    def show(self, post: Post, *, tool: str = "", **submitted: Form) -> HttpResponse:
        """Return the page. `submitted` is a form that is shown with its errors, by its name; the other forms show the post."""
        request, account = self.request, self.request.account
        duplicates = account.posts.live().filter(duplicate_from_id=post.id).order_by("id")
        return self.render(
            "forum/team_tools/team_tools.html" if request.htmx else None,
            http_status=422 if submitted else 200,
            section="suggestions",
            post=post,
            tool=next(iter(submitted), tool),
            forms={name: submitted.get(name) or make_form(post) for name, make_form in self.form_makers.items()},
            tags=[tag["name"] for tag in tags_in_use(request.user, "post")[:MAX_TAGS_OFFERED]],
            duplicates=list(duplicates.values_list("id", "title")[:MAX_DUPLICATES]),
        )

    def status_form(self, post: Post, *data: object) -> PostStatusForm:
        statuses = self.request.account.statuses_of_kind(Status.Kind.POST)
        return PostStatusForm(*data, post=post, statuses=list(statuses))

    def place_form(self, post: Post, *data: object) -> PlaceForm:
        return PlaceForm(*data, request=self.request, post=post)

    def find_even_if_trashed(self, id: int) -> Post:
        """Return the post, also from the trash: the page then shows the submitted form again, with an error."""
        try:
            return self.find(id)
        except PostInTrash:
            return cast(Post, self.posts.get(id=id))

    def change_status(self, request: ForumUserRequest, id: int) -> HttpResponse:
        post = self.find_even_if_trashed(id)
        take_files(request, "response")
        form = self.status_form(post, request.POST)

        def act() -> None:
            locked = self.lock(id)
            if changes := form.changes(locked):
                self.write_post(locked, changes, corrects_answer=bool(locked.response))

        try:
            is_saved = form.is_valid() and self.submit_form(form, act)
        except PostInTrash:
            form.add_error(None, DELETED)
            is_saved = False
        except forms.ValidationError as error:
            form.add_error("response", error)
            is_saved = False
        return self.redirect_after_save(id) if is_saved else self.show(post, status=form)

    def change_place(self, request: ForumUserRequest, id: int) -> HttpResponse:
        post = self.find(id)
        form = self.place_form(post, request.POST)

        def act() -> None:
            locked = self.lock(id)
            if form.cleaned_data:
                self.write_post(locked, dict(form.cleaned_data))

        if not form.is_valid() or not self.submit_form(form, act):
            return self.show(post, place=form)
        return self.redirect_after_save(id)

    def redirect_after_save(self, id: int) -> HttpResponse:
        messages.success(self.request, _("Saved."))
        # The page of a duplicate redirects to the original, unless the query has `original=0`.
        is_merged = self.posts.filter(id=id, duplicate_from_id__isnull=False).exists()
        return redirect("forum-post", id, query={"original": 0} if is_merged else None)


class MovePostPage(ForumTeamPage):
    """Moving a suggestion to another status on the roadmap, by dragging. The link leads to the form for the status."""

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        self.find(id)
        return redirect("forum-post-team", id, query={"tool": "status"})

    def post(self, request: ForumUserRequest, id: int) -> HttpResponse:  # type: ignore[override]  # has no actions
        status_id, seen_id = (parse_id(request.POST.get(name)) for name in ("status_id", "seen_status_id"))

        def move() -> None:
            post = self.lock(id)
            if post.status_id not in (seen_id, status_id):
                raise Conflict(
                    _("Somebody else has changed the status in the meantime. This is the roadmap as it is now.")
                )
            if post.status_id != status_id:
                self.write_post(post, {"status_id": status_id})

        self.perform(move, success_message=_("Saved."))
        path = referring_path(request=request, default=reverse("forum-roadmap"))
        return HttpResponse(headers={"HX-Redirect": path}) if request.htmx else redirect(path)


class MergePostPage(ForumTeamPage):
    """Merging a post into another one: search, preview, merge, undo."""

    template_name = "forum/team_tools/merge.html"
    actions = {"merge": "merge", "undo": "undo"}

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        q = self.read_query()
        if request.htmx:
            return self.render("forum/team_tools/merge_found.html", id=id, q=q, found=self.search(q, id))
        post = self.find(id)
        original_id, original = request.GET.get("into"), None
        if original_id is not None:
            originals = self.posts.live().filter(duplicate_from_id=None).exclude(id=id)
            original = originals.filter(id=parse_id(original_id) or 0).first()
            if original is None:
                messages.error(request, _("There is no such suggestion to merge it into."))
        found = self.search(q, id) if original is None else []
        preview = post.preview_merge(original) if original is not None and post.duplicate_from_id is None else None
        context: dict[str, Any] = {"preview": preview, "max_followers": MAX_COUNTED_FOLLOWERS}
        return self.render(section="suggestions", post=post, original=original, id=id, q=q, found=found, **context)

    def search(self, q: str, id: int) -> list[tuple[object, ...]]:
        """If the text is the id of a post, return this post. If there is none, return the posts that a search for the text finds."""
        account, forum_id, columns = self.request.account, self.request.forum.id, ("id", "title", "votes_cache")
        if not q:
            return []
        rows = []
        if post_id := parse_id(q.removeprefix("#")):
            rows = list(self.posts.listed_for(self.request.user).filter(id=post_id).values_list(*columns))
        if not rows:
            rows = ForumList(account, forum_id, self.request.user, columns, start=0, size=MAX_FOUND + 1).search(q)
        return [row for row in rows if row[0] != id][:MAX_FOUND]

    def merge(self, request: ForumUserRequest, id: int) -> HttpResponse:
        post = self.find(id)
        original_id = parse_id(request.POST.get("into"))
        original = self.posts.filter(id=original_id or 0).first()
        if original is None:
            messages.error(request, _("Choose the suggestion to merge it into."))
            return redirect("forum-post-merge", id)

        def act() -> None:
            try:
                post.merge_into(original, by=request.user)
            except FieldErrors:
                # Another request, such as that of a second click, has merged the post already.
                if post.duplicate_from_id != original.id:
                    raise
            except Post.DoesNotExist:
                raise Http404 from None

        success_message = _("“%(title)s” is merged into this suggestion.") % {"title": post.title}
        if self.perform(act, success_message=success_message):
            return redirect(post_path(original.id, original.title))
        return redirect("forum-post-merge", id)

    def undo(self, request: ForumUserRequest, id: int) -> HttpResponse:
        post = self.find(id)

        def act() -> None:
            try:
                post.undo_merge(by=request.user)
            except Post.DoesNotExist:
                raise Http404 from None

        success_message = _("This suggestion stands on its own again, with its own votes and comments.")
        return redirect("forum-post" if self.perform(act, success_message=success_message) else "forum-post-merge", id)
