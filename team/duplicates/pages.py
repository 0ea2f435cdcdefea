"""The pages of duplicates of clients and contacts. Two buttons of each row lead to the page that merges two records."""

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from core.pages.base import redirect
from team.duplicates.keys import KeyKind
from team.duplicates.models import PAGE_SIZE, dismiss, find_groups, key_text, read_key
from team.lists.pages.base import RecordsPage
from team.menu.pages import ActionsPage, TeamRequest
from team.merges.pages import merge_path


class DuplicatesPage(ActionsPage, RecordsPage):
    template_name = "team/duplicates/duplicates.html"
    actions = {"dismiss": "dismiss"}

    def get(self, request: TeamRequest) -> HttpResponse:
        resource, after = self.declaration.resource, read_key(request.GET.get("after", ""))
        groups, following = find_groups(request.account, request.user, resource, after=after)
        shown = [
            {
                "reasons": [KeyKind(kind).label for kind in group.reasons],
                "pairs": [key_text(key) for key in group.keys],
                # Each row can be kept. The other one is the first of the group, or the second for the first.
                "rows": [
                    (row, merge_path(resource, row.id, query={"with": group.rows[0 if number else 1].id}))
                    for number, row in enumerate(group.rows)
                ],
            }
            for group in groups
        ]
        return self.render(groups=shown, following=following and key_text(following))

    def dismiss(self) -> HttpResponse:
        account, user, post = self.request.account, self.request.user, self.request.POST
        keys = [key for text in post.getlist("key")[:PAGE_SIZE] if (key := read_key(text)) is not None]
        self.perform(
            lambda: dismiss(account, user, self.declaration.resource, keys),
            success_message=_("They are not shown as duplicates any more."),
        )
        return redirect(reverse(f"team-{self.declaration.resource}-duplicates"))
