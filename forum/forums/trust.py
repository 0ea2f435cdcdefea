"""Which members the service trusts: those of whom everyone has seen some texts."""

from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef

from accounts.users.models import User
from core.db.tenancy import account_of

# A member of whom everyone sees this number of posts and comments may publish links without an approval.
TRUSTED_TEXTS = 3


def count_public_texts(author: User, *, not_post: int = 0, not_comment: int = 0, before: datetime | None = None) -> int:
    """Return the number of posts and comments of an author that everyone sees, each counted up to `TRUSTED_TEXTS`.

    A post and a comment can be left out by their ids, and the texts that were written later than `before`.
    """
    account: Any = account_of(author.account_id)
    open_posts = account.posts.open()
    posts = open_posts.filter(user_id=author.id).exclude(id=not_post).order_by()
    comments = account.comments.public().filter(Exists(open_posts.filter(id=OuterRef("post_id"))), user_id=author.id)
    texts = [posts, comments.exclude(id=not_comment)]
    if before is not None:
        texts = [rows.filter(created_at__lte=before) for rows in texts]
    counted = [rows.values("account_id")[:TRUSTED_TEXTS] for rows in texts]
    return int(counted[0].union(counted[1], all=True).count())
