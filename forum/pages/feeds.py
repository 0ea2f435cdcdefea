"""What programs read of a forum's pages: Atom feeds (RFC 4287) for readers of news, and a sitemap for search engines."""

from django.db import InterfaceError, OperationalError
from django.db.models import Case, When
from django.db.models.functions import Left, Length
from django.db.models.lookups import LessThanOrEqual
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.utils.html import format_html
from django.utils.translation import get_language

from accounts.templatetags.statuses import status_name
from core.api import throttling
from core.db.text import replace_non_xml
from core.error_responses import error_response, unavailable
from core.pages.base import base_url
from core.pages.routes import path_with_id
from core.search.queries import MAX_QUERY_LENGTH
from forum.markdown import excerpt
from forum.models import Category, Post
from forum.pages.reading import ORDERS, READ, SHOWN, ListPage, path_of, query_of

ENTRIES = 25
# What is longer is only begun in a feed.
WHOLE = 16_384
# One statement reads them all.
ADDRESSES = 1000
COLUMNS = (
    "id",
    "title",
    Left("content", READ),
    Case(When(LessThanOrEqual(Length("content_html"), WHOLE), then="content_html")),
    "created_at",
    "updated_at",
    "user__name",
    "user__login",
    "tags",
)


class Feed(Atom1Feed):
    def latest_post_date(self):
        """Of an empty one too it is always the same, so that a reader who has it is told so."""
        return super().latest_post_date() if self.items else self.feed["begun_at"]


class FeedPage(ListPage):
    """The newest of a list that everyone who reads the forum sees, whoever asks: feeds are passed on."""

    def get(self, request):
        account, forum, parameters = request.account, request.forum, request.GET
        category, place = None, {"forum_id": forum.id}
        if number := parameters.get("category"):
            category = self.read_category(number)
            place = {"category_id": category.id}
        status, order = self.read_status([]), parameters.get("order") or "new"
        if order not in ORDERS:
            raise Http404
        given = {"status_id": status.id} if status else {}
        q = replace_non_xml(parameters.get("q", ""))[:MAX_QUERY_LENGTH].strip()
        if q:
            throttling.count_search(request)
            rows = Post.objects.search(
                q, None, COLUMNS, account=account, start=0, size=ENTRIES, **given, **{"forum_id": forum.id} | place
            )
        else:
            order = "new" if status else order
            rows = Post.objects.page(
                None, COLUMNS, account_id=account.id, order=order, start=0, size=ENTRIES, **given, **place
            )
        base = base_url(request)
        what = {"order": "" if q or order == "new" else order, "status": status and status.code, "q": q}
        address = base + reverse("forum-feed") + query_of(category=category and category.id, **what)
        parts = [forum.name, category and category.name, status and status_name(status), q and f"“{q}”"]
        feed = Feed(
            title=" · ".join(part for part in parts if part),
            link=f"{base}{path_of(category and category.name, is_first=False)}{query_of(**what)}",
            description="",
            subtitle=forum.description or None,
            language=get_language(),
            feed_url=address,
            feed_guid=address,
            begun_at=forum.created_at,
        )
        for id, title, beginning, html, created_at, updated_at, name, login, tags in rows:
            link = base + path_with_id("forum-post", id)
            if html is None:
                html = format_html("<p>{}</p>", excerpt(beginning, max_length=SHOWN))
            feed.add_item(
                title=title,
                link=link,
                # A reference in a text may stand for what XML does not have.
                description=replace_non_xml(html),
                author_name=name or login,
                pubdate=created_at,
                updateddate=updated_at,
                unique_id=link,
                categories=tags,
            )
        response = HttpResponse(feed.writeString("utf-8"), content_type=feed.content_type)
        # Programs may keep it and ask whether it is still so.
        response["Cache-Control"] = "private, no-cache"
        return response

    def read_category(self, number: str) -> Category:
        is_id = number.isascii() and number.isdigit() and len(number) < 19
        found = self.request.account.categories.filter(
            forum_id=self.request.forum.id, id=number if is_id else 0
        ).first()
        if found is None:
            raise Http404
        return found


def sitemap(request: HttpRequest) -> HttpResponse:
    """The categories and the newest suggestions of a forum that everyone may read (sitemaps.org)."""
    if request.method not in ("GET", "HEAD"):
        return error_response(request, 405, headers={"Allow": "GET, HEAD"})
    address = request.address
    try:
        rows = Post.objects.sitemap_entries(address.account_id, address.site_id, limit=ADDRESSES)
    except (OperationalError, InterfaceError):
        return unavailable(request)
    if not rows:
        raise Http404
    base = base_url(request)
    names = [name for _id, name, _changed in rows if name is not None]
    categories = [base + path_of(name, is_first=number == 0) for number, name in enumerate(names)]
    posts = [(base + path_with_id("forum-post", id), changed_at) for id, _name, changed_at in rows if id is not None]
    return render(
        request, "forum/sitemap.xml", {"categories": categories, "posts": posts}, content_type="application/xml"
    )
