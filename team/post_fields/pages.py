"""The fields that the account defines for suggestions: the panel on the page of a suggestion and in the inbox, and the form for the values.

Only the team sees them.
"""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from accounts.fields.catalogue import Field, defined_fields
from accounts.fields.models import FieldDefinition
from accounts.hosts.requests import PageRequest
from core.errors import FieldErrors
from core.pages.base import redirect
from core.pages.templates import render_part
from crm.resources.api.views import name_defined_field, nested
from forum.forums.requests import ForumUserRequest
from forum.lists.queries import PostQuerySet
from forum.posts.models import Post
from forum.team_tools.pages import ForumTeamPage
from forum.texts.slugs import post_path
from team.fields.forms import display, initial_value
from team.fields.names import href_of
from team.records.pages.edit import RecordEditForm

SUGGESTION = FieldDefinition.Target.SUGGESTION


class PostFieldsPage(ForumTeamPage):
    template_name = "team/post_fields/edit.html"
    actions = {"save": "save"}

    @property
    def posts(self) -> PostQuerySet:
        """The posts of all forums of the account, because the inbox has them."""
        return self.request.account.posts.without_tasks()

    def form(self, post: Any, *sent: object) -> RecordEditForm:
        fields = defined_fields(self.request.account, SUGGESTION)
        if not fields:
            raise Http404
        initial = {field.name: initial_value(field, field.value_of(post)) for field in fields}
        return RecordEditForm(*sent, row=post, fields=fields, user=self.request.user, initial=initial)

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        post = self.find(id)
        return self.show(post, self.form(post))

    def show(self, post: Post, form: RecordEditForm) -> HttpResponse:
        return self.render_form(form, section="suggestions", post=post, back=self.back)

    def save(self, request: ForumUserRequest, id: int) -> HttpResponse:
        post = self.find(id)
        form = self.form(post, request.POST)
        if not form.is_valid() or not self.submit_form(form, lambda: self.write(form, self.lock(id))):
            return self.show(post, form)
        messages.success(request, _("Saved."))
        return redirect(self.back or post_path(post.id, post.title))

    def write(self, form: RecordEditForm, post: Post) -> None:
        """Write the fields that the user has changed. The post must be locked."""
        try:
            if values := form.changes(post, self.request.user):
                self.write_post(post, nested(values))
        except FieldErrors as caught:
            raise FieldErrors(map(name_defined_field, caught.errors)) from None


def render_panel(request: PageRequest, post: Any, *, is_pane: bool = False) -> SafeString | str:
    """Return the panel with the values, and nothing if the account defines no fields."""
    fields = defined_fields(request.account, SUGGESTION)
    facts = [(field, text, href_of(field, field.value_of(post))) for field in fields if (text := text_of(field, post))]
    context = {"post": post, "facts": facts, "is_pane": is_pane, "back": request.get_full_path() if is_pane else ""}
    return render_part("team/post_fields/panel.html", context, request) if fields else ""


def text_of(field: Field, post: Post) -> str:
    return display(field, field.value_of(post), post.account)
