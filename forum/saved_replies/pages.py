"""The account settings for saved replies, and the menu that inserts one."""

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.hosts.requests import UserRequest
from accounts.layout.forms import Form
from accounts.layout.settings import SettingsPage, write_row
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation
from forum.forums.requests import ForumUserRequest
from forum.saved_replies.api import SavedReplySerializer
from forum.saved_replies.models import SavedReply
from forum.team_tools.pages import ForumTeamPage

# The text fields that have the menu, by their ids.
FIELDS = ("answer-response", "comment-content", "pane-reason")


class SavedReplyForm(Form):
    name = forms.CharField(label=gettext_lazy("Name"), max_length=100)
    text = forms.CharField(
        label=gettext_lazy("Text"),
        max_length=SavedReply.MAX_LENGTH,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text=gettext_lazy(
            "{name} becomes the name of the author of the suggestion, {title} its title. Markdown works."
        ),
    )


class SavedRepliesPage(CreatingPage, SettingsPage):
    template_name = "forum/saved_replies/saved_replies.html"
    part = "saved-replies"
    actions = {"add": "add"}

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show(SavedReplyForm())

    def show(self, form: Form) -> HttpResponse:
        return self.render_form(form, rows=list(self.request.account.saved_replies.order_by("name_key")))

    def add(self, request: UserRequest) -> HttpResponse:
        form, account = SavedReplyForm(request.POST), request.account
        creation = Creation(
            create=lambda: write_row(SavedReplySerializer, SavedReply(account=account), form.cleaned_data),
            rows=account.saved_replies.locked(),
            path=lambda reply: reverse("forum-settings-saved-reply", args=[reply.id]),
            saved=lambda reply: {name: getattr(reply, name) for name in SavedReplyForm.base_fields},
            change=lambda reply: write_row(SavedReplySerializer, reply, form.cleaned_data),
        )
        reply = self.create_once(form, creation)
        if reply is None:
            return self.show(form)
        messages.success(request, _("%(name)s is added.") % {"name": reply.name})
        return redirect("forum-settings-saved-replies")


class SavedReplyPage(SettingsPage):
    template_name = "forum/saved_replies/saved_reply.html"
    part = "saved-replies"
    actions = {"save": "save", "delete": "delete"}

    def find(self, id: int) -> SavedReply:
        reply: SavedReply = get_object_or_404(self.request.account.saved_replies, id=id)
        reply.account = self.request.account
        return reply

    def get(self, request: UserRequest, id: int) -> HttpResponse:
        row = self.find(id)
        return self.render_form(SavedReplyForm(initial={"name": row.name, "text": row.text}), row=row)

    def save(self, request: UserRequest, id: int) -> HttpResponse:
        row, form = self.find(id), SavedReplyForm(request.POST)
        if not form.is_valid() or not self.submit_form(
            form, lambda: write_row(SavedReplySerializer, row, form.cleaned_data)
        ):
            return self.render_form(form, row=self.find(id))
        messages.success(request, _("%(name)s is saved.") % {"name": row.name})
        return redirect("forum-settings-saved-replies")

    def delete(self, request: UserRequest, id: int) -> HttpResponse:
        row = self.find(id)
        self.perform(row.delete, success_message=_("%(name)s is deleted.") % {"name": row.name})
        return redirect("forum-settings-saved-replies")


class SavedRepliesPart(ForumTeamPage):
    """The menu of saved replies about a suggestion, for the text field that the parameter `field` names."""

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        posts = request.account.posts.live().without_tasks().filter(id=id)
        title, name, login = get_object_or_404(posts.values_list("title", "user__name", "user__login"))
        replies = [
            (reply.name, reply.text.replace("{name}", name or login).replace("{title}", title))
            for reply in request.account.saved_replies.order_by("name_key")
        ]
        field_id = request.GET.get("field", "")
        if field_id not in FIELDS:
            raise Http404
        return self.render("forum/saved_replies/menu.html", replies=replies, field_id=field_id)
