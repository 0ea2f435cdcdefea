"""The pages of messages to the customers behind a suggestion: form, preview, progress, and unsubscribing."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csrf import csrf_exempt

from accounts.hosts.requests import PageRequest, UserRequest
from accounts.layout.forms import Form
from accounts.layout.settings import parse_id
from accounts.mail.sending import single_line, supported_language
from accounts.sign_in.pages.email_links import render_invalid_link
from core.db.transactions import in_transaction
from core.error_responses import error_response
from core.errors import FieldErrors, Throttled
from core.http import throttling
from core.pages.base import Page, redirect
from core.pages.creation import CreatingPage, Creation
from core.pages.errors import error_sentence
from crm.resources.models import blocked_addresses
from forum.forums.requests import ForumUserRequest
from forum.lists.queries import PostQuerySet
from forum.posts.models import Post
from forum.team_tools.pages import ForumTeamPage
from forum.texts.markdown import render
from team.mailings.audience import Among, Audience, audience_of, candidates_of
from team.mailings.models import MAX_SUBJECT_LENGTH, MAX_TEXT_LENGTH, Message, MessageQuerySet
from team.mailings.sending import (
    PLACEHOLDER,
    MessageContent,
    RecipientsChanged,
    read_unsubscribe_token,
    request_test,
    start_message,
    suggest_texts,
    unsubscribe,
)
from team.menu.pages import TeamPage, TeamRequest

# The numbers of names in the preview, and of earlier messages.
MAX_NAMES, MAX_EARLIER = 10, 10
# The id of the part of the page of a message that htmx refreshes.
PROGRESS = "progress"


class MessageForm(Form):
    subject = forms.CharField(label=gettext_lazy("Subject"), max_length=MAX_SUBJECT_LENGTH)
    text = forms.CharField(
        label=gettext_lazy("Text"),
        max_length=MAX_TEXT_LENGTH,
        widget=forms.Textarea(attrs={"rows": 12}),
        help_text=gettext_lazy("{name} becomes the first name or the name of each recipient. Markdown works."),
    )
    among = forms.ChoiceField(label=gettext_lazy("Recipients"), choices=Among.choices, widget=forms.RadioSelect)
    include_not_asked = forms.BooleanField(
        label=gettext_lazy("Include customers who were not asked for consent"),
        required=False,
        help_text=gettext_lazy("Without this, only those who agreed to be contacted get the message."),
    )

    def clean_subject(self) -> str:
        return single_line(self.cleaned_data["subject"])


def accessible_messages(request: UserRequest) -> MessageQuerySet:
    rows: MessageQuerySet = request.account.customer_messages.all()
    return rows.accessible_to(request.user)


class NewMessagePage(CreatingPage, ForumTeamPage):
    """The form and the preview of a message. The preview sends the form again: to test it, to edit it or to send it."""

    template_name = "team/mailings/new.html"
    actions = {"preview": "preview", "edit": "edit", "test": "test", "send": "send"}

    @property
    def posts(self) -> PostQuerySet:
        """The posts of the forum, or of all forums of the account for a draft, which may be about any of them."""
        return self.request.account.posts.without_tasks() if self.draft_id else super().posts

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        post = self.find(id)
        if not self.draft_id:
            return self.show_form(post, MessageForm(initial=suggest_texts(post) | {"among": Among.ALL}))
        drafts = accessible_messages(request).filter(state=Message.State.DRAFT, post_id=post.id)
        draft = drafts.filter(id=self.draft_id).values(*MessageForm.base_fields).first()
        if draft is None:
            # The page of the message says what became of the draft.
            return redirect("team-message", self.draft_id)
        return self.show_form(post, MessageForm(initial=draft))

    @property
    def draft_id(self) -> int | None:
        """The id of the draft that the form edits."""
        return parse_id(self.request.POST.get("draft") or self.request.GET.get("draft") or "")

    def show_form(self, post: Post, form: MessageForm, *, is_wrong: bool = False) -> HttpResponse:
        account, user = self.request.account, self.request.user
        earlier = accessible_messages(self.request).filter(post_id=post.id).order_by("-id")[:MAX_EARLIER]
        counts, problem = [], ""
        try:
            candidates = candidates_of(account, user, post.id)
            counts = [candidates.audience(include_not_asked=include) for include in (False, True)]
        except FieldErrors as caught:
            problem = " ".join(map(error_sentence, caught.errors))
        return self.render(
            http_status=422 if is_wrong else 200,
            section="suggestions",
            post=post,
            form=form,
            draft_id=self.draft_id,
            earlier=list(earlier),
            counts=counts,
            problem=problem,
        )

    @cached_property
    def submitted(self) -> MessageForm:
        return MessageForm(self.request.POST)

    def edit(self, request: ForumUserRequest, id: int) -> HttpResponse:
        form = self.submitted
        values: dict[str, object] = {name: request.POST.get(name, "") for name in ("subject", "text", "among")}
        values["include_not_asked"] = "include_not_asked" in request.POST
        return self.show_form(self.find(id), MessageForm(initial=values) if form.is_valid() else form)

    def preview(self, request: ForumUserRequest, id: int) -> HttpResponse:
        return self.show_preview(self.find(id))

    def audience(self, post: Post) -> Audience:
        """Return the recipients that the valid form selects. Raise FieldErrors if a message can't have them."""
        values = {name: self.submitted.cleaned_data[name] for name in ("among", "include_not_asked")}
        audience = audience_of(self.request.account, self.request.user, post.id, **values)
        audience.check_size()
        return audience

    def show_preview(self, post: Post, *, http_status: int = 200, has_changed: bool = False) -> HttpResponse:
        """Return the preview, or the form with its errors."""
        throttling.count_preview(self.request)
        form = self.submitted
        found: list[Audience] = []
        if not form.is_valid() or not self.submit_form(form, lambda: found.append(self.audience(post))):
            return self.show_form(post, form, is_wrong=True)
        audience, values = found[-1], form.cleaned_data
        content = MessageContent.build(self.request.account, post, values["subject"], values["text"])
        greeting = audience.people[0].greeting
        return self.render(
            "team/mailings/preview.html",
            http_status=http_status,
            section="suggestions",
            post=post,
            form=form,
            draft_id=self.draft_id,
            audience=audience,
            number=len(audience.people),
            names=[person.name for person in audience.people[:MAX_NAMES]],
            subject=content.subject.replace(PLACEHOLDER, greeting),
            html=content.html(greeting),
            has_link=bool(content.post_url),
            sender=content.sender.name,
            has_changed=has_changed,
        )

    def test(self, request: ForumUserRequest, id: int) -> HttpResponse:
        post, form, user = self.find(id), self.submitted, request.user
        if form.is_valid():
            values = form.cleaned_data
            try:
                request_test(user, post, subject=values["subject"], text=values["text"])
            except Throttled:
                messages.error(request, _("Too many e-mails were sent. Try again later."))
            else:
                messages.success(request, _("A test is on its way to %(email)s.") % {"email": user.email})
        return self.show_preview(post)

    def send(self, request: ForumUserRequest, id: int) -> HttpResponse:
        """Start the message, once for each form. If the number of recipients has changed since the preview, ask again."""
        post, form, user = self.find(id), self.submitted, request.user
        if not form.is_valid():
            return self.show_preview(post)
        values = form.cleaned_data

        class Changed(Exception):
            pass

        def start() -> Message:
            # If the draft was deleted meanwhile, the values of the form are a new message.
            draft = accessible_messages(request).locked().filter(id=self.draft_id).first()
            message = draft or Message()
            message.account = request.account
            for name, value in {**values, "post_id": post.id}.items():
                setattr(message, name, value)
            try:
                start_message(message, by=user, expected=parse_id(request.POST.get("number") or "") or 0)
            except RecipientsChanged:
                raise Changed from None
            return message

        creation = Creation(
            create=start,
            rows=request.account.customer_messages.all(),
            path=lambda message: reverse("team-message", args=[message.id]),
            saved=lambda message: {name: getattr(message, name) for name in form.fields},
        )
        try:
            started = self.create_once(form, creation, further={"draft": self.draft_id})
        except Changed:
            return self.show_preview(post, http_status=409, has_changed=True)
        return redirect("team-message", started.id) if started else self.show_form(post, form, is_wrong=True)


class MessagePage(TeamPage):
    """A message: its progress, the recipients who did not get it, and cancel. While it is sent, the page is refreshed.

    A draft can be sent, after a preview, and deleted.
    """

    template_name = "team/mailings/message.html"
    section = "suggestions"

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        named = {"author_name": F("author__name"), "post_title": F("post__title")}
        message = get_object_or_404(accessible_messages(request).annotate(**named), id=id)
        problems = message.skipped + message.failed
        is_fragment = self.fills(PROGRESS)
        return self.render(
            "team/mailings/progress.html" if is_fragment else None,
            message=message,
            html="" if is_fragment else render(message.text),
            problems=message.problems(request.user) if problems else [],
            problems_number=problems,
        )

    def post(self, request: TeamRequest, id: int) -> HttpResponse:
        actions: dict[str, Callable[[Message], None]] = {"cancel": Message.cancel, "delete": Message.erase}
        do = request.POST.get("do", "")
        action = actions.get(do)
        if action is None:
            return error_response(request, 400)
        post_ids: list[int] = []

        def act() -> None:
            message = get_object_or_404(accessible_messages(request).locked(), id=id)
            message.account = request.account
            action(message)
            post_ids.append(message.post_id)

        if self.perform(act) and do == "delete":
            messages.success(request, _("The draft is deleted."))
            return redirect("team-post-message", post_ids[-1])
        return redirect("team-message", id)


class CustomerUnsubscribePage(Page):
    """The page that the link to unsubscribe of a message opens (RFC 8058). The signed token is the permission.

    A mail program sends a POST to the link. A GET changes nothing, because e-mail scanners open links.
    """

    request: PageRequest

    template_name = "team/mailings/unsubscribe.html"

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        return csrf_exempt(super().as_view(**initkwargs))

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.respond(is_sent=False)

    def post(self, request: HttpRequest) -> HttpResponse:
        return self.respond(is_sent=True)

    def respond(self, *, is_sent: bool) -> HttpResponse:
        account = self.request.account
        payload = read_unsubscribe_token(account, self.request.GET.get("token", ""))
        if payload is None:
            return render_invalid_link(self, unsubscribes=True)
        email = payload["email"]
        if is_sent:
            in_transaction(lambda: unsubscribe(account, payload["resource"], payload["id"], email))
        # The language of the e-mail.
        with translation.override(supported_language(account.language)):
            return self.render(email=email, is_done=is_sent or bool(blocked_addresses(account, {email})))
