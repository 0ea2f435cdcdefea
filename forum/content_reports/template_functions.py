from accounts.users.models import User
from core.pages.templates import template_filter
from forum.comments.models import Comment
from forum.content_reports.models import may_report
from forum.posts.models import Post


@template_filter
def may_be_reported_by(row: Post | Comment, user: User | None) -> bool:
    return user is not None and may_report(row, user)
