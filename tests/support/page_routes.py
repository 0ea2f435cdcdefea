"""The routes of the pages, and addresses of existing rows for them."""

from django.urls import URLPattern, get_resolver

from accounts.statuses.models import Status
from core.pages.base import Page
from team.bulk.models import BulkChange
from team.exports.models import Export
from tests.support.factories import (
    make_answer,
    make_attachment,
    make_category,
    make_client,
    make_comment,
    make_contact,
    make_contact_list,
    make_deal,
    make_field_definition,
    make_import,
    make_message,
    make_note,
    make_post,
    make_saved_view,
    make_task,
    make_token,
    make_user,
)
from tests.support.fill import SECRET
from webhooks.models import Endpoint


def page_class(pattern: URLPattern) -> type[Page] | None:
    view = getattr(pattern.callback, "page", pattern.callback)
    view_class = getattr(view, "view_class", None)
    return view_class if isinstance(view_class, type) and issubclass(view_class, Page) else None


def page_routes() -> dict[str, set[str]]:
    """Return the methods of each route of the pages."""
    methods_by_route = {}
    for pattern in get_resolver().url_patterns:
        page = page_class(pattern)
        if page is not None:
            methods_by_route[str(pattern.pattern)] = {method for method in ("get", "post") if hasattr(page, method)}
    return methods_by_route


ROUTES = page_routes()
# Routes whose views are called for forms without a valid CSRF token too.
CSRF_EXEMPT = {
    str(pattern.pattern) for pattern in get_resolver().url_patterns if getattr(pattern.callback, "csrf_exempt", False)
}


def make_rows(account, user) -> dict[str, int | str]:
    """Create a row of each kind with SECRET in its texts, and return the values for the parameters of paths."""
    category = make_category(account, f"{SECRET} more")
    forum = account.forums.create(host_id=account.hosts.create(name=f"{account.prefix}-more").id, name=SECRET)
    make_token(user, label=SECRET)
    post = make_post(user, f"{SECRET} wish", content=SECRET)
    make_field_definition(account, resource="suggestion", label=f"{SECRET} field")
    return {
        "attachments": make_attachment(user, "post", post, f"{SECRET}.txt").id,
        "posts": post.id,
        "tasks": make_task(user, f"{SECRET} task", content=SECRET).id,
        "comments": make_comment(post, user, SECRET).id,
        "categories": category.id,
        "category_name": category.name,
        "statuses": account.statuses.create(kind=Status.Kind.POST, code="more", name=f"{SECRET} more").id,
        "forums": forum.id,
        "notes": make_note(user, SECRET).id,
        "clients": make_client(user, f"{SECRET} client", city=SECRET).id,
        "contacts": make_contact(user, f"{SECRET} contact").id,
        "contact_lists": make_contact_list(user, f"{SECRET} readers").id,
        "deals": make_deal(user, f"{SECRET} deal").id,
        "merges": account.merges.merge(
            account, "client", make_client(user).id, make_client(user, SECRET).id, {}, by=user
        ).id,
        "pipelines": account.pipelines.create(name=f"{SECRET} way", position=2).id,
        "groups": account.user_groups.create(name=f"{SECRET} users").id,
        "fields": make_field_definition(account, label=f"{SECRET} field").id,
        "bulk_changes": BulkChange.start(
            account,
            by=user,
            resource="client",
            action="add_tags",
            data={"tags": [SECRET]},
            ids=[make_client(user, f"{SECRET} tagged").id],
            query="",
        ).id,
        "imports": make_import(
            user, f"Name,Discount\n{SECRET},1\n{SECRET} wrong,many\n", name=f"{SECRET}.csv", started=True
        ).id,
        "exports": Export.start(
            account, by=user, resource="client", query=f"q={SECRET}", options={"language": "en"}
        ).id,
        "answers": make_answer(post, user, response=SECRET).id,
        "saved_replies": account.saved_replies.create(name=f"{SECRET} reply", text=SECRET).id,
        "messages": make_message(user, SECRET).id,
        "webhooks": Endpoint.objects.all().add(account, url=f"https://hooks.example.com/{SECRET}")[0].id,
        "views": make_saved_view(user, f"{SECRET} shared view", shared=True).id,
        "authors": make_user(account, f"{SECRET}-author").id,
        "users": make_user(account, f"{SECRET}-user").id,
        "tokens": account.tokens.order_by("-id").first().id,
    }


def path_of(route: str, ids: dict) -> str:
    if "<id:id>" in route:
        kind = route.partition("/<id:id>")[0].rpartition("/")[2]
        route = route.replace("<id:id>", str(ids[kind]))
    route = route.replace("<category_name:category_name>", str(ids.get("category_name")))
    route = route.replace("<id:comment_id>", str(ids.get("comments")))
    return "/" + route.replace("<slug:section>", "clients").replace("<slug:slug>", "clients").replace(
        "<slug:name>", "results"
    ).replace("<str:name>", "a.txt")
