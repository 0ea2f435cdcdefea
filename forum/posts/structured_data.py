"""The description of a suggestion for search engines, as JSON-LD (schema.org)."""

import json

from django.utils.safestring import SafeString, mark_safe

from accounts.users.names import public_name
from forum.posts.models import Post
from forum.texts.markdown import as_plain_text, truncate

MAX_TEXT_LENGTH = 1000
# The text of a script element ends at "</script>", whatever surrounds it.
ESCAPES = {ord("<"): "\\u003C", ord(">"): "\\u003E", ord("&"): "\\u0026"}


def describe(post: Post, name: str, *, url: str, image: str) -> SafeString:
    """Return the JSON-LD of a suggestion that every visitor may read, for a script element. `name` is that of the author."""
    statistic = [
        {
            "@type": "InteractionCounter",
            "interactionType": f"https://schema.org/{action}",
            "userInteractionCount": count,
        }
        for action, count in (("LikeAction", post.votes_cache), ("CommentAction", post.comments_cache))
    ]
    # Enough of the Markdown for the text. A long one would take a part of the page twice.
    text = truncate(as_plain_text(post.content[: 4 * MAX_TEXT_LENGTH]), MAX_TEXT_LENGTH)
    description = {
        "@context": "https://schema.org",
        "@type": "DiscussionForumPosting",
        "url": url,
        "headline": post.title,
        "text": text or post.title,
        "author": {"@type": "Person", "name": public_name(name)},
        "datePublished": post.created_at.isoformat(timespec="seconds"),
        "dateModified": post.updated_at.isoformat(timespec="seconds"),
        "image": image,
        "commentCount": post.comments_cache,
        "interactionStatistic": statistic,
    }
    return mark_safe(json.dumps(description, ensure_ascii=False).translate(ESCAPES))  # noqa: S308, the characters of markup are escaped
