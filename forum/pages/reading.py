"""What anybody may read of a forum."""

from math import ceil
from urllib.parse import quote, urlencode

from django.db.models import Exists, F, OuterRef, Subquery
from django.db.models.functions import Left
from django.http import Http404, HttpResponseRedirect
from django.urls import reverse

from accounts.models import Status, User
from core.api import throttling
from core.api.paging import Page as PageOfList
from core.db.tenancy import fold
from core.db.text import replace_non_xml
from core.errors import FieldErrors
from core.pages.base import base_url, redirect
from core.registry import registry
from core.search.queries import MAX_QUERY_LENGTH
from forum.markdown import plain, render
from forum.models import Category, Comment, Post
from forum.pages.base import ForumPage

# Of a text that is only begun, so much is read, and at most so much of it is shown.
READ, SHOWN, DESCRIBED = 600, 200, 160
COLUMNS = (
    "id",
    "title",
    Left("content", READ),
    "status__code",
    "status__name",
    "status__color",
    "votes_cache",
    "comments_cache",
    "created_at",
    "user__name",
    "user__login",
    "private",
    "kind",
    "approved",
    "tags",
    "client_id",
    "contact_id",
)
NAMES = tuple(column if isinstance(column, str) else "content" for column in COLUMNS)
USER = ("name", "login", "role")
ORDERS = ("new", "top", "active", "commented")
ON_ROADMAP = 20
COMMENTS, VOTERS, CHANGES, DUPLICATES = 100, 20, 50, 50


def shown(row: tuple) -> dict:
    """A post as lists show it."""
    post = dict(zip(NAMES, row, strict=True))
    post["status"] = Status(
        kind=Status.Kind.POST, **{name: post.pop(f"status__{name}") for name in ("code", "name", "color")}
    )
    post["excerpt"] = plain(post["content"], most=SHOWN)
    post["nick"] = post["user__name"] or post["user__login"]
    post["is_private"] = post["private"] or post["kind"] == Post.Kind.PRIVATE
    post["is_for_customer"] = post["client_id"] is not None or post["contact_id"] is not None
    return post


def path_of(category_name: str | None, *, is_first: bool) -> str:
    """The one path of a category's list: that of the first is the forum's."""
    home = reverse("forum-home")
    # `reverse` would leave some characters of a name as they are, such as &.
    return home if is_first or category_name is None else home + quote(category_name, safe="")


def query_of(**parameters) -> str:
    given = {name: value for name, value in parameters.items() if value not in ("", None)}
    return f"?{urlencode(given)}" if given else ""


# The routes where links to an older server lead, unless a category has that name.
FORMER_ADDRESSES = {"login": "accounts-sign-in", "logout": "accounts-profile", "account": "accounts-account"}


def former_address(category_name: str | None) -> str | None:
    """Return the route of the page that an older server had under that name. Profile pages have the button to sign out."""
    return FORMER_ADDRESSES.get((category_name or "").lower())


class ListPage(ForumPage):
    """A page with suggestions on it."""

    def read_page(self) -> PageOfList:
        try:
            return PageOfList.read({"page": self.request.GET.get("page")})
        except FieldErrors:
            raise Http404 from None

    def read_status(self, statuses: list[Status]) -> Status | None:
        """The status that is asked for, if one is: usually one of these."""
        if not (code := self.request.GET.get("status")):
            return None
        for status in statuses:
            if status.code == code:
                return status
        status = self.request.account.statuses.filter(kind=Status.Kind.POST, code=replace_non_xml(code)).first()
        if status is None:
            raise Http404
        return status

    def about(self, posts: list[dict]) -> dict:
        """What else is shown of posts: which of them whoever asks has voted for; to the team, whose wish they are."""
        account, user = self.request.account, self.request.user
        if user is not None and user.is_team:
            ids = {id for post in posts for id in (post["client_id"], post["contact_id"]) if id is not None}
            if ids:
                # Clients and contacts share the account's ids.
                sides = [
                    customer.rows_of(account).filter(id__in=ids).order_by().values_list("id", "name")
                    for customer in registry.customers()
                ]
                names = dict(sides[0].union(*sides[1:], all=True))
                for post in posts:
                    post["customer"] = names.get(post["contact_id"]) or names.get(post["client_id"])
        voted = account.votes.of(user, [post["id"] for post in posts]) if user is not None else set()
        return {"posts": posts, "voted": voted}


class PostListPage(ListPage):
    """The suggestions of a category, or of the forum's first; or what is found in a category, or in the forum."""

    template_name = "forum/posts.html"

    def get(self, request, category_name: str | None = None):
        account, forum = request.account, request.forum
        categories = list(account.categories.of_forum(forum.id))
        first = category = categories[0] if categories else None
        if category_name is not None:
            by_key = {one.name_key: one for one in categories}
            category = by_key.get(fold(category_name)) or by_key.get(fold(category_name.replace("+", " ")))
            if category is None:
                if address := former_address(category_name):
                    return redirect(address)
                raise Http404
        q = replace_non_xml(request.GET.get("q", ""))[:MAX_QUERY_LENGTH].strip()
        if q:
            throttling.count_search(request)
        is_everywhere = bool(q) and category_name is None
        place = {"forum_id": forum.id} if is_everywhere or category is None else {"category_id": category.id}
        statuses = Post.objects.statuses_in_use(account, **place)
        status, page = self.read_status(statuses), self.read_page()
        order = request.GET.get("order") or "new"
        if order not in ORDERS:
            raise Http404
        given = {"status_id": status.id} if status else {}
        if category is None:
            rows = []
        elif q:
            rows = Post.objects.search(
                q,
                request.user,
                COLUMNS,
                account=account,
                start=page.start,
                size=page.size + 1,
                **given,
                **{"forum_id": forum.id} | place,
            )
        else:
            # Those of a status are in one order alone.
            order = "new" if status else order
            rows = Post.objects.page(
                request.user,
                COLUMNS,
                account_id=account.id,
                order=order,
                start=page.start,
                size=page.size + 1,
                **given,
                **place,
            )
        if not rows and page.number > 1:
            raise Http404
        # Where nothing has all the words, what comes close in the whole forum.
        close = []
        if is_everywhere and not rows and not status:
            close = rows = Post.objects.similar_to(q, COLUMNS, account=account, forum_id=forum.id, searched=True)
        # A search at the forum's own path is in all of it.
        is_first = category == first and not (q and category_name)
        path = path_of(category and category.name, is_first=is_first or is_everywhere)
        what = {"order": "" if q or order == "new" else order, "status": status and status.code, "q": q}
        return self.render(
            section="suggestions",
            category=None if is_everywhere else category,
            categories=categories,
            first=first,
            statuses=statuses,
            order=order,
            chosen=status,
            q=q,
            comes_close=bool(close),
            page=page,
            more=len(rows) > page.size,
            # Where a search stays, as an address has it: a name may have a question mark.
            here=path_of(category.name if category_name else None, is_first=False),
            canonical=f"{base_url(request)}{path}{query_of(**what, page=page.number if page.number > 1 else None)}",
            feed=reverse("forum-feed") + query_of(category=None if is_first or is_everywhere else category.id, **what),
            **self.about([shown(row) for row in rows[: page.size]]),
        )


class RoadmapPage(ListPage):
    """What is planned, what is being done, and what is done; with `status`, all of one of them."""

    template_name = "forum/roadmap.html"

    def get(self, request):
        account, forum = request.account, request.forum
        if request.GET.get("status"):
            return self.all_of(self.read_status([]))
        board = Post.objects.roadmap(COLUMNS, account=account, forum_id=forum.id, most=ON_ROADMAP + 1)
        columns = [
            (status, [shown(row) for row in rows[:ON_ROADMAP]], len(rows) > ON_ROADMAP) for status, rows in board
        ]
        return self.render(
            section="roadmap",
            columns=columns,
            canonical=base_url(request) + reverse("forum-roadmap"),
            **self.about([post for _, posts, _ in columns for post in posts]),
        )

    def all_of(self, status: Status):
        request, page = self.request, self.read_page()
        rows = Post.objects.in_status(
            COLUMNS,
            account=request.account,
            forum_id=request.forum.id,
            status_id=status.id,
            start=page.start,
            size=page.size + 1,
        )
        if not rows and page.number > 1:
            raise Http404
        query = query_of(status=status.code, page=page.number if page.number > 1 else None)
        return self.render(
            "forum/roadmap_status.html",
            section="roadmap",
            chosen=status,
            page=page,
            more=len(rows) > page.size,
            canonical=base_url(request) + reverse("forum-roadmap") + query,
            **self.about([shown(row) for row in rows[: page.size]]),
        )


class PostPage(ForumPage):
    """A suggestion, with its comments and what became of it."""

    template_name = "forum/post.html"

    def get(self, request, id: int):
        account, forum, user = request.account, request.forum, request.user
        is_team = user is not None and user.is_team
        post = self.posts().filter(id=id).first()
        if post is None:
            raise Http404
        if post.duplicate_from_id is not None and not (is_team and request.GET.get("original") == "0"):
            # A message would set a cookie for whoever only reads.
            return HttpResponseRedirect(reverse("forum-post", args=[post.duplicate_from_id], query={"from": id}))
        page, last = self.read_page(post)
        if post.content_html is None:
            post.content_html = render(post.content)
        if post.response and post.response_html is None:
            post.response_html = render(post.response)
        # The last ones are read, and told from the first on.
        history = list(account.status_changes.of_post(id).reverse()[:CHANGES])[::-1]
        duplicates = account.posts.visible_to(user).of_forum(forum.id).filter(duplicate_from_id=id).order_by("id")
        duplicates = list(duplicates.values_list("id", "title")[: DUPLICATES + 1])
        came_from = request.GET.get("from", "")
        voters = account.votes.voters(account.id, id, most=VOTERS) if post.votes_cache else []
        names = [name for _, name in voters]
        customers = 0
        if post.votes_cache > len(names):
            if is_team:
                # Clients and contacts have up to a half of the room, or what users leave of it.
                proxies = account.proxy_votes.of_post(id).with_names()[:VOTERS]
                proxies = [proxy.client_name or proxy.contact_name for proxy in proxies]
                names = (names[: max(VOTERS - len(proxies), VOTERS // 2)] + proxies)[:VOTERS]
            elif len(names) < VOTERS:
                # All users are among them, so the others are clients and contacts.
                customers = post.votes_cache - len(names)
        return self.render(
            section="suggestions",
            post=post,
            category=Category(account=account, id=post.category_id, forum_id=forum.id, name=post.category_name),
            path=path_of(post.category_name, is_first=post.category_id == post.first_category_id),
            comments=self.comments(post, page) if post.comments_cache else [],
            page=page,
            last=last,
            more=page.number < last,
            history=history,
            answered=next((change for change in reversed(history) if change.response), None),
            voters=voters,
            voter_names=names,
            customers=customers,
            other_voters=post.votes_cache - len(names) - customers,
            voted={id} if user is not None and post.is_voted else set(),
            duplicates=duplicates[:DUPLICATES],
            more_duplicates=len(duplicates) > DUPLICATES,
            came_from=next((title for one, title in duplicates if str(one) == came_from), None),
            canonical=base_url(request)
            + reverse("forum-post", args=[id], query={"page": page.number} if page.number > 1 else None),
            description=plain(post.content[:READ], most=DESCRIBED),
        )

    def posts(self):
        """The posts that may be read here, with what stands beside them."""
        account, forum, user = self.request.account, self.request.forum, self.request.user
        categories = account.categories.of_forum(forum.id)
        beside = {
            "nick": F("user__name"),
            "login": F("user__login"),
            "category_name": Subquery(categories.filter(id=OuterRef("category_id")).values("name")[:1]),
            "first_category_id": Subquery(categories.values("id")[:1]),
            "response_nick": Subquery(account.users.filter(id=OuterRef("response_user_id")).values("name")),
        }
        if user is not None:
            beside["is_voted"] = Exists(account.votes.filter(post_id=OuterRef("id"), user_id=user.id))
            if user.is_team:
                beside |= {
                    f"{each.key}_name": Subquery(
                        each.rows_of(account).filter(id=OuterRef(f"{each.key}_id")).values("name")
                    )
                    for each in registry.customers()
                }
                originals = account.posts.filter(id=OuterRef("duplicate_from_id"))
                beside["original_title"] = Subquery(originals.values("title"))
        posts = account.posts.visible_to(user).of_forum(forum.id).of_forums()
        return posts.select_related("status").annotate(**beside)

    def read_page(self, post: Post) -> tuple[PageOfList, int]:
        """The page of the comments, and the number of the last one, which may be asked for as `last`."""
        last = max(1, ceil(post.comments_cache / COMMENTS))
        number = self.request.GET.get("page")
        try:
            page = PageOfList.read({"page": last if number == "last" else number, "per_page": COMMENTS})
        except FieldErrors:
            raise Http404 from None
        if page.number > last:
            raise Http404
        return page, last

    def comments(self, post: Post, page: PageOfList) -> list[Comment]:
        """Each with its user, of whom only what is shown is read."""
        names = {name: F(f"user__{name}") for name in USER}
        comments = self.request.account.comments.filter(post_id=post.id).order_by("created_at", "id")
        comments = list(comments.annotate(**names)[page.start : page.start + page.size])
        for comment in comments:
            comment.user = User(
                account_id=post.account_id, id=comment.user_id, **{name: getattr(comment, name) for name in USER}
            )
            if comment.comment_html is None:
                comment.comment_html = render(comment.comment)
        return comments
