"""The routes of the forum's pages. The home page and the categories share their paths with the Forum API (`page_or_view`)."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.http import HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from core.http.negotiation import expects_html
from core.http.requests import TenantRequest
from core.pages.base import redirect
from forum.blocking.pages import AuthorPage
from forum.categories import pages as categories
from forum.categories.models import Category
from forum.comments.pages import comments
from forum.comments.pages.mentions import MentionsPart
from forum.comments.pages.new_comment import CommentPage
from forum.content_reports.pages import ReportPage
from forum.customers import pages as on_behalf
from forum.follows.pages import FollowPage
from forum.forums.models import Forum
from forum.forums.pages import members, settings
from forum.forums.pages.robots import Favicon, Robots
from forum.inbox.pages import moderation
from forum.inbox.pages.inbox import InboxPage
from forum.inbox.pages.reported import ReportedPage
from forum.lists.pages.base import route_of_former_path
from forum.lists.pages.feeds import FeedPage, sitemap
from forum.lists.pages.home import OwnPostsPage, PostListPage
from forum.lists.pages.roadmap import RoadmapPage
from forum.notifications import pages as notifications
from forum.posts.pages import writing
from forum.posts.pages.reading import PostPage
from forum.previews.pages import PostImagePage
from forum.team_tools.pages import tools as team
from forum.team_tools.pages.merge import MergePage
from forum.texts import pages as texts
from forum.votes.pages import first_vote
from forum.votes.pages.vote import VotePage

urlpatterns = [
    path("app/suggestions", PostListPage.as_view(), name="forum-suggestions"),
    path("app/posts/<id:id>", PostPage.as_view(), name="forum-post"),
    path("app/posts/<id:id>/preview.png", PostImagePage.as_view(), name="forum-post-image"),
    path("app/posts/new", writing.NewPostPage.as_view(), name="forum-post-new"),
    path("app/posts/similar", writing.SimilarPart.as_view(), name="forum-post-similar"),
    path("app/posts/preview", texts.PreviewPart.as_view(), name="forum-post-preview"),
    path("app/posts/<id:id>/vote", VotePage.as_view(), name="forum-post-vote"),
    path("app/posts/<id:id>/follow", FollowPage.as_view(), name="forum-post-follow"),
    path("app/posts/<id:id>/mentions", MentionsPart.as_view(), name="forum-post-mentions"),
    path("app/unsubscribe", notifications.UnsubscribePage.as_view(), name="forum-unsubscribe"),
    path("app/notifications", notifications.NotificationsPage.as_view(), name="forum-notifications"),
    path("app/posts/<id:id>/vote/first", first_vote.FirstVotePage.as_view(), name="forum-first-vote"),
    path("app/posts/<id:id>/vote/code", first_vote.FirstVoteCodePage.as_view(), name="forum-first-vote-code"),
    path("app/posts/<id:id>/comments", CommentPage.as_view(), name="forum-comments"),
    path("app/posts/<id:id>/comments/<id:comment_id>", comments.CommentLink.as_view(), name="forum-comment"),
    path(
        "app/posts/<id:id>/comments/<id:comment_id>/delete",
        comments.DeleteCommentPage.as_view(),
        name="forum-comment-delete",
    ),
    path(
        "app/posts/<id:id>/comments/<id:comment_id>/edit", comments.EditCommentPage.as_view(), name="forum-comment-edit"
    ),
    path(
        "app/posts/<id:id>/comments/<id:comment_id>/history",
        comments.CommentHistoryPage.as_view(),
        name="forum-comment-history",
    ),
    path("app/posts/<id:id>/edit", writing.EditPage.as_view(), name="forum-post-edit"),
    path("app/posts/<id:id>/delete", writing.DeletePage.as_view(), name="forum-post-delete"),
    path("app/profile/posts", OwnPostsPage.as_view(), name="forum-own-posts"),
    path("app/posts/<id:id>/team", team.ToolsPage.as_view(), name="forum-post-team"),
    path("app/posts/<id:id>/merge", MergePage.as_view(), name="forum-post-merge"),
    path("app/posts/<id:id>/behalf", on_behalf.ProxyVotesPage.as_view(), name="forum-proxy-votes"),
    path("app/posts/behalf", on_behalf.NewPostOnBehalfPage.as_view(), name="forum-post-new-on-behalf"),
    path("app/posts/<id:id>/report", ReportPage.as_view(), name="forum-post-report"),
    path("app/posts/<id:id>/comments/<id:comment_id>/report", ReportPage.as_view(), name="forum-comment-report"),
    path("app/inbox/reported", ReportedPage.as_view(), name="forum-reported"),
    path("app/inbox", InboxPage.as_view(), name="forum-inbox"),
    path("app/authors/<id:id>", AuthorPage.as_view(), name="forum-author"),
    path("app/moderation", moderation.ModerationPage.as_view(), name="forum-moderation"),
    path("app/account/forums", settings.ForumsPage.as_view(), name="forum-settings-forums"),
    path("app/account/forums/new", settings.NewForumPage.as_view(), name="forum-settings-forum-new"),
    path("app/account/forums/<id:id>", settings.ForumSettingsPage.as_view(), name="forum-settings-forum"),
    path("app/account/forums/<id:id>/members", members.MembersPage.as_view(), name="forum-settings-members"),
    path("app/account/categories", categories.CategoriesPage.as_view(), name="forum-settings-categories"),
    path("app/account/categories/<id:id>", categories.CategoryPage.as_view(), name="forum-settings-category"),
    path("robots.txt", Robots.as_view(), name="forum-robots"),
    path("favicon.ico", Favicon.as_view(), name="forum-favicon"),
    path("app/roadmap", RoadmapPage.as_view(), name="forum-roadmap"),
    path("app/feed.atom", FeedPage.as_view(), name="forum-feed"),
    path("sitemap.xml", sitemap, name="forum-sitemap"),
]


def may_be_category(request: TenantRequest, category_name: str) -> bool:
    """Return whether the forum may have a category of that name. For a private forum it is always true, to keep its names secret."""
    account_id, forum_id = request.address.site_key
    forum = Forum.objects.get(account_id=account_id, id=forum_id)
    return (
        not forum.may_be_read_by(None) or Category.objects.find_by_name(account_id, forum_id, category_name) is not None
    )


def page_or_view(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Return a view that shows the page of a list to browsers, and calls `view` for other clients."""
    page = PostListPage.as_view()

    # API clients may send the parameters by POST, without a CSRF token. Neither the page nor `view` changes anything.
    @csrf_exempt
    @wraps(view)
    def choose(request: TenantRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if expects_html(request):
            return cast(HttpResponse, page(request, *args, **kwargs))
        route = route_of_former_path(kwargs.get("category_name"))
        if route and "HTTP_AUTHORIZATION" not in request.META and not may_be_category(request, **kwargs):
            return redirect(route)
        return view(request, *args, **kwargs)

    choose.page = page  # type: ignore[attr-defined]  # for the tests of access
    return choose
