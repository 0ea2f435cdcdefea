"""The pages of the team's answers: the form, answers that wait for their time, and all answers to a suggestion in order."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.attachments.uploading import MAX_FORM_BYTES, take_files
from accounts.layout.forms import Form
from accounts.statuses.models import Status, status_name
from core.errors import Conflict, FieldErrors
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation
from core.pages.formatting import time_text
from forum.answers.models import Answer, customer_news
from forum.forums.pages.base import ForumPage
from forum.forums.requests import ForumRequest, ForumUserRequest
from forum.lists.pages.base import find_post
from forum.lists.queries import PostQuerySet
from forum.notifications.recipients import MAX_COUNTED, count_recipients_of_answer
from forum.posts.models import Post
from forum.team_tools.pages import ResubmittableTeamPage, digest
from forum.texts.markdown import render
from forum.texts.pages import LongTextFormField
from forum.texts.slugs import post_path

ANSWERS_PER_PAGE = 10


class AnswerForm(Form):
    """The form for a response, the status to which it belongs, and who is told when."""

    id_format = "answer-%s"
    status_id = forms.TypedChoiceField(label=gettext_lazy("Status"), coerce=int)
    response = LongTextFormField(
        label=gettext_lazy("Official response"),
        rows=6,
        required=False,
        help_text=gettext_lazy("Everyone sees it above the comments. Earlier responses stay in the history."),
    )
    silent = forms.BooleanField(label=gettext_lazy("Tell nobody"), required=False)
    tell_customers = forms.BooleanField(label="", required=False)
    publish_at = forms.DateTimeField(
        label=gettext_lazy("Publish later"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text=gettext_lazy("Empty: at once. Until then you can change or cancel it."),
    )
    # The digest of the response when the form was opened.
    seen = forms.CharField(required=False, max_length=16, widget=forms.HiddenInput)

    def __init__(self, *args: object, statuses: list[Status], customers: int | None = 0, **kwargs: object):
        super().__init__(*args, **kwargs)
        self.set_choices("status_id", ((status.id, status_name(status)) for status in statuses))
        self.fields["response"].widget.attrs["autofocus"] = True
        self.fields["tell_customers"].label = (
            _("Also tell customers by e-mail, if they agreed to be contacted")
            if customers is None
            else ngettext(
                "Also tell %(n)d customer by e-mail, who agreed to be contacted",
                "Also tell %(n)d customers by e-mail, who agreed to be contacted",
                customers,
            )
            % {"n": customers}
        )
        if customers == 0 and not self.is_bound:
            self.initial["tell_customers"] = False

    @property
    def values(self) -> dict[str, Any]:
        names = ("status_id", "response", "silent", "tell_customers", "publish_at")
        return {name: self.cleaned_data[name] for name in names}


class AnswerFormPage(ResubmittableTeamPage):
    """The base of the pages with the form for a new answer and for one that waits."""

    template_name = "forum/answers/answer.html"
    max_body_bytes = MAX_FORM_BYTES

    @property
    def posts(self) -> PostQuerySet:
        """The posts of all forums of the account, because the inbox has them."""
        return self.request.account.posts.without_tasks()

    def form_for(self, post: Post, *sent: object, **values: object) -> AnswerForm:
        try:
            customers: int | None = customer_news().count(post, self.request.user)
        except FieldErrors:
            customers = None
        statuses = self.request.account.statuses_of_kind(Status.Kind.POST)
        return AnswerForm(*sent, statuses=list(statuses), customers=customers, **values)

    def text_fields(self) -> list[forms.BoundField]:
        return [AnswerForm(self.request.POST, statuses=[])["response"]]

    def show(self, post: Post, form: AnswerForm, **context: Any) -> HttpResponse:
        request = self.request
        recipients = count_recipients_of_answer(post, request.user)
        return self.render_form(
            form,
            "forum/answers/answer_part.html" if request.htmx else None,
            section="suggestions",
            post=post,
            recipients=recipients,
            back=self.back,
            max_recipients=MAX_COUNTED,
            scheduled=list(request.account.answers.filter(post_id=post.id).scheduled().select_related("user")),
            **context,
        )

    def tell(self, answer: Answer) -> None:
        if answer.published_at is None and answer.publish_at is not None:
            message = _("The answer will be published on %(time)s.") % {"time": time_text(answer.publish_at)}
        elif answer.customers_told:
            message = ngettext(
                "The answer is published, and %(n)d customer gets it by e-mail.",
                "The answer is published, and %(n)d customers get it by e-mail.",
                answer.customers_told,
            ) % {"n": answer.customers_told}
        else:
            message = _("The answer is published.")
        messages.success(self.request, message)


class AnswerPage(CreatingPage, AnswerFormPage):
    """The form for an answer, as a page, or as a part that htmx puts above the comments of a suggestion."""

    actions = {"answer": "answer"}

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        post = self.find(id)
        initial = {"status_id": post.status_id, "seen": digest(post.response), "tell_customers": True}
        return self.show(post, self.form_for(post, initial=initial))

    def show_submitted_form(self, id: int) -> HttpResponse:
        post = self.find(id)
        return self.show(post, self.form_for(post, self.request.POST))

    def answer(self, request: ForumUserRequest, id: int) -> HttpResponse:
        post = self.find(id)
        files = take_files(request, "response")
        form = self.form_for(post, request.POST)

        def create() -> Answer:
            answer = Answer(account=request.account, post_id=post.id)
            current = digest(answer.lock_post().response)
            if form.cleaned_data["seen"] != current:
                # If the user submits the form again, they have read the other answer.
                form.replace_data("seen", current)
                raise Conflict(_("Somebody else has answered in the meantime. Read it, then send yours again."))
            answer.write(form.values, by=request.user)
            return answer

        creation = Creation(
            create=create,
            rows=request.account.answers.locked(),
            path=lambda answer: post_path(post.id, post.title),
            saved=lambda answer: {name: getattr(answer, name) for name in form.values},
        )
        # What was seen is no value of the answer.
        answer = self.create_once(form, creation, form.values if form.is_valid() else None, files)
        if answer is None:
            return self.show(post, form)
        self.tell(answer)
        return redirect(self.back or post_path(post.id, post.title))


class ScheduledAnswerPage(AnswerFormPage):
    """The form for an answer that waits for its time: change it, or cancel it."""

    actions = {"save": "save", "cancel": "cancel"}

    def find_answer(self, id: int, *, locked: bool = False) -> tuple[Answer, Post]:
        """Return the answer and its post. Raise Http404 if the answer is published, or about a post in the trash."""
        rows = self.request.account.answers.filter(published_at=None)
        answer = get_object_or_404(rows.locked() if locked else rows, id=id)
        answer.account = self.request.account
        return answer, self.find(answer.post_id)

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        answer, post = self.find_answer(id)
        initial = {name: getattr(answer, name) for name in AnswerForm.base_fields if name != "seen"}
        initial["status_id"] = answer.status_id or post.status_id
        return self.show(post, self.form_for(post, initial=initial), answer=answer)

    def show_submitted_form(self, id: int) -> HttpResponse:
        answer, post = self.find_answer(id)
        return self.show(post, self.form_for(post, self.request.POST), answer=answer)

    def save(self, request: ForumUserRequest, id: int) -> HttpResponse:
        answer, post = self.find_answer(id)
        take_files(request, "response")
        form, answers = self.form_for(post, request.POST), [answer]

        def act() -> None:
            answers[:] = [self.find_answer(id, locked=True)[0]]
            answers[0].write(form.values, by=request.user)

        if not form.is_valid() or not self.submit_form(form, act):
            return self.show(post, form, answer=answer)
        self.tell(answers[0])
        return redirect(post_path(post.id, post.title))

    def cancel(self, request: ForumUserRequest, id: int) -> HttpResponse:
        _answer, post = self.find_answer(id)
        self.perform(
            lambda: self.find_answer(id, locked=True)[0].erase(),
            success_message=_("The answer is cancelled. Nobody has seen it."),
        )
        return redirect("forum-post-answer", post.id)


class AnswersPage(ForumPage):
    """All official responses to a suggestion, oldest first."""

    template_name = "forum/answers/answers.html"
    indexed = False

    def get(self, request: ForumRequest, id: int) -> HttpResponse:
        post, page = find_post(request, id), self.read_page(size=ANSWERS_PER_PAGE)
        found = list(request.account.status_changes.of_post(post.id).answers()[page.start : page.stop])
        for change in found:
            change.response_html = change.response_html or render(change.response or "")
        more = len(found) > page.size
        return self.render(section="suggestions", post=post, answers=found[: page.size], page=page, more=more)
