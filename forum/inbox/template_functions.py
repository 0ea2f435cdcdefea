from core.pages.templates import template_filter
from forum.comments.models import Comment
from forum.comments.pages import EditCommentForm
from forum.posts.models import Post
from forum.posts.pages import EditPostForm


@template_filter
def version_digest(row: Post | Comment) -> str:
    """Return the digest of the texts. The approval form submits it, so that changed texts are not approved unseen."""
    return EditCommentForm.version_of(row) if isinstance(row, Comment) else EditPostForm.version_of(row)
