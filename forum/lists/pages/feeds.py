"""Atom feeds (RFC 4287) and the sitemap of a forum."""

from datetime import datetime

from django.db import InterfaceError, OperationalError
from django.db.models import Case, When
from django.db.models.functions import Left, Length
from django.db.models.lookups import LessThanOrEqual
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.utils.html import format_html
from django.utils.translation import get_language

from accounts.statuses.models import Status
from accounts.users.names import public_name
from core.api.routing import path_with_id
from core.db.text import replace_non_xml
from core.error_responses import error_response, unavailable
from core.pages.base import base_url
from forum.forums.requests import ForumRequest
from forum.lists.pages.base import (
    DEFAULT_ORDER,
    EXCERPT_LENGTH,
    EXCERPT_SOURCE_LENGTH,
    Filters,
    PostsPage,
    category_list_path,
    query_string,
    read_order,
)
from forum.lists.queries import sitemap_entries
from forum.lists.whole_forum import ForumList
from forum.texts.markdown import excerpt, with_base_url
from forum.texts.slugs import post_path

MAX_ENTRIES = 25
# The length of HTML up to which a feed has the whole text of a post instead of an excerpt.
MAX_HTML_LENGTH = 16_384
# One statement reads all posts of the sitemap.
MAX_SITEMAP_POSTS = 1000
COLUMNS = (
    "id",
    "title",
    Left("content", EXCERPT_SOURCE_LENGTH),
    Case(When(LessThanOrEqual(Length("content_html"), MAX_HTML_LENGTH), then="content_html")),
    "created_at",
    "updated_at",
    "user__name",
    "tags",
)


class Feed(Atom1Feed):
    def latest_post_date(self) -> datetime:
        """Return the time of the newest entry. An empty feed has a constant time, so that conditional requests get 304."""
        return super().latest_post_date() if self.items else self.feed["opened_at"]


class FeedPage(PostsPage):
    """The feed of a list. It has only posts that every reader of the forum may see, because users pass feeds on to others."""

    def get(self, request: ForumRequest) -> HttpResponse:
        account, forum, parameters = request.account, request.forum, request.GET
        categories, statuses = account.categories.of_forum(forum.id), account.statuses_of_kind(Status.Kind.POST)
        filters = Filters.read(parameters, categories, statuses)
        order = read_order(parameters.get("order"), "new")
        q = self.read_query()
        posts = ForumList(account, forum.id, None, COLUMNS, start=0, size=MAX_ENTRIES, selection=filters.selection)
        base = base_url(request)
        query = {**filters.parameters, "q": q}
        address = base + reverse("forum-feed") + query_string(order="" if q or order == "new" else order, **query)
        parts = [forum.name, *(name for name, _filters in filters.names), q and f"“{q}”"]
        feed = Feed(
            title=" · ".join(part for part in parts if part),
            link=base
            + reverse("forum-suggestions")
            + query_string(order="" if q or order == DEFAULT_ORDER else order, **query),
            description="",
            subtitle=forum.description or None,
            language=get_language(),
            feed_url=address,
            feed_guid=address,
            opened_at=forum.created_at,
        )
        for id, title, beginning, html, created_at, updated_at, name, tags in (
            posts.search(q) if q else posts.page(order)
        ):
            link = base + post_path(id, title)
            if html is None:
                html = format_html("<p>{}</p>", excerpt(beginning, max_length=EXCERPT_LENGTH))
            feed.add_item(
                title=title,
                link=link,
                # A character reference in the HTML may stand for a character that XML does not allow.
                description=replace_non_xml(with_base_url(html, base)),
                author_name=public_name(name),
                pubdate=created_at,
                updateddate=updated_at,
                # Without the title, which may change.
                unique_id=base + path_with_id("forum-post", id),
                categories=tags,
            )
        response = HttpResponse(feed.writeString("utf-8"), content_type=feed.content_type)
        # Feed readers may store the feed and revalidate it.
        response["Cache-Control"] = "private, no-cache"
        return response


def sitemap(request: ForumRequest) -> HttpResponse:
    """Return the sitemap of a forum that everyone may read: its categories and its newest suggestions (sitemaps.org)."""
    if request.method not in ("GET", "HEAD"):
        return error_response(request, 405, headers={"Allow": "GET, HEAD"})
    try:
        rows = sitemap_entries(*request.address.site_key, limit=MAX_SITEMAP_POSTS)
    except (OperationalError, InterfaceError):
        return unavailable(request)
    if not rows:
        raise Http404
    base = base_url(request)
    names = [name for id, name, _changed in rows if id is None]
    lists = [base + reverse("forum-suggestions"), *(base + category_list_path(name) for name in names)]
    posts = [(base + post_path(id, title), changed_at) for id, title, changed_at in rows if id is not None]
    return render(request, "forum/lists/sitemap.xml", {"lists": lists, "posts": posts}, content_type="application/xml")
