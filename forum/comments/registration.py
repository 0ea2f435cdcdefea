from accounts.account.models import Account
from accounts.attachments.holders import Holder, register_holder
from accounts.users.models import User
from forum.comments.models import Comment, CommentQuerySet


def visible_comments(account: Account, user: User | None) -> CommentQuerySet:
    comments: CommentQuerySet = account.comments.visible_to(user)
    return comments.filter(post_id__in=account.posts.visible_to(user).order_by().values("id"))


register_holder(Holder("comment", Comment, visible_comments, may_change=Comment.may_be_changed_by))
