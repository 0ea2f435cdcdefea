"""The optimized reads return the same bytes as a simple implementation in Python, which filters and sorts model instances
and shares no code with the service."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from xml.sax.saxutils import escape
from zoneinfo import ZoneInfo

from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.api.serializers import ResourceSerializer
from core.rows.trimmed import trim
from crm.clients.api import ClientSerializer
from crm.clients.models import Client, ClientExternalId
from crm.contacts.api import ContactSerializer
from crm.contacts.models import Contact, ContactList, ContactListMembership
from crm.deals.api import DealSerializer
from crm.deals.models import Deal
from forum.comments.models import Comment
from forum.posts.api import PostSerializer
from forum.posts.models import Post
from tests.support.factories import make_category

random_rows = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

# The production Char of XML 1.0, section 2.2.
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff").filter(
    lambda character: character >= " " or character in "\t\n\r"
)
texts = st.sampled_from(
    ["", " ", "a", "Zażółć <b>&amp;</b> ]]>", "\r\n\t", "\"'\\/", "0", "😀\u2028\x85\x7f", "%s {} %"]
)
texts |= st.text(characters, max_size=12)
names = texts.filter(trim)
microseconds = st.sampled_from([0, 1, 500_000, 999_999])
# A small set of days, so that some rows tie and ids break the tie; some days have another UTC offset in some zones.
days = st.sampled_from([(1971, 1, 1), (2024, 2, 29), (2026, 3, 29), (2026, 10, 25), (2099, 12, 31)])
times = st.builds(
    lambda day, hour, microsecond: datetime(*day, hour, 59, 59, microsecond, tzinfo=UTC),
    days,
    st.integers(0, 3),
    microseconds,
)
zones = st.sampled_from(["UTC", "Europe/Warsaw", "America/St_Johns", "Asia/Kathmandu"])
numbers = st.integers(-(2**63), 2**63 - 1)
decimals = st.decimals(-(10**14) + 1, 10**14 - 1, places=6) | st.sampled_from([Decimal(n) for n in ("0", "100", "1.5")])
flags = st.booleans()


def optional(strategy):
    return st.none() | strategy


def lists_of(max_size: int, **fields):
    return st.lists(st.fixed_dictionaries(fields), max_size=max_size)


def format_time(value: datetime | None, zone: str) -> str | None:
    return value and value.replace(microsecond=0).astimezone(ZoneInfo(zone)).isoformat()


def page_of(rows: list, page: int, size: int) -> list:
    return rows[(page - 1) * size : page * size]


class RolledBack:
    """Roll back the rows of each example."""

    def __enter__(self):
        self.transaction = transaction.atomic()
        self.transaction.__enter__()

    def __exit__(self, *failure):
        transaction.set_rollback(True)
        self.transaction.__exit__(*failure)


# XML


def element(name: str, value, depth: int, zone: str) -> str:
    kind = {"created-at": "datetime", "updated-at": "datetime"}.get(name)
    if name in ("id", "category-id", "responsible-id", "comments-cache", "votes-cache"):
        kind = "integer"
    start = "  " * depth + f"<{name}" + (f' type="{kind}"' if kind else "")
    if value is None:
        return f'{start} nil="true"/>\n'
    text = format_time(value, zone) if isinstance(value, datetime) else escape(str(value), {"\r": "&#13;"})
    return f"{start}>{text}</{name}>\n"


def parent_element(name: str, children: dict, depth: int, zone: str) -> str:
    content = "".join(element(child, children[child], depth + 1, zone) for child in sorted(children))
    return "  " * depth + f"<{name}>\n{content}" + "  " * depth + f"</{name}>\n"


def array_element(name: str, child_name: str, rows: list[dict], depth: int, zone: str) -> str:
    start = "  " * depth + f'<{name} type="array"'
    if not rows:
        return f"{start}/>\n"
    return (
        f"{start}>\n"
        + "".join(parent_element(child_name, row, depth + 1, zone) for row in rows)
        + "  " * depth
        + f"</{name}>\n"
    )


def xml(text: str) -> bytes:
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + text.encode("utf-8")


def fields_in_list(post: Post) -> dict:
    names = ("agent", "comments_cache", "content", "created_at", "id", "title", "updated_at", "votes_cache")
    return {name.replace("_", "-"): getattr(post, name) for name in names}


def all_fields_of(post: Post, code: str) -> dict:
    others = {"category-id": post.category_id, "responsible-id": post.responsible_id}
    return fields_in_list(post) | others | {"kind": post.kind, "status": code}


def comment_fields(comment: Comment) -> dict:
    names = ("agent", "comment", "created_at", "id", "kind", "updated_at")
    return {name.replace("_", "-"): getattr(comment, name) for name in names}


ORDERS = {
    "new": lambda post: (post.created_at, post.id),
    "old": lambda post: (post.created_at, post.id),
    "top": lambda post: (post.votes_cache, post.id),
    "commented": lambda post: (post.comments_cache, post.id),
    "active": lambda post: (post.updated_at, post.id),
}

posts = lists_of(
    10,
    title=names,
    content=texts,
    agent=texts,
    kind=st.sampled_from(Post.Kind.values),
    private=flags,
    approved=st.sampled_from([True, True, False]),
    created_at=times,
    updated_at=times,
    votes_cache=st.integers(0, 3),
    comments_cache=st.integers(0, 3),
    user=st.integers(0, 2),
    category=st.sampled_from([0, 0, 1]),
    status=st.integers(0, 3),
    responsible=flags,
    trashed=st.sampled_from([False, False, False, True]),
    merged=st.sampled_from([False, False, False, True]),
)
comments = lists_of(
    5, comment=names, agent=texts, kind=optional(texts), created_at=times, updated_at=times, user=st.integers(0, 2)
)


@random_rows
@given(
    posts,
    comments,
    zones,
    st.sampled_from([*ORDERS, "new", "new", "accepted"]),
    st.sampled_from([None, "", "Second"]),
    st.integers(1, 2),
    st.integers(1, 9),
)
def test_posts_equal_the_simple_implementation(acme, posts, comments, zone, order, path, page, size):
    with RolledBack():
        acme.account.time_zone = zone
        acme.account.save()
        users, statuses = [acme.alice, acme.bob, acme.carol], list(acme.account.statuses.filter(kind="post"))
        categories = [acme.category, make_category(acme.account, "Second")]
        original = Post(account=acme.account, forum_id=acme.forum.id, category_id=categories[1].id)
        original.write({"title": "a", "private": True}, by=acme.alice)
        rows = [
            Post(
                account=acme.account,
                forum_id=acme.forum.id,
                user_id=users[fields.pop("user")].id,
                category_id=categories[fields.pop("category")].id,
                status_id=statuses[fields.pop("status")].id,
                responsible_id=acme.bob.id if fields.pop("responsible") else None,
                trashed_at=fields["created_at"] if fields.pop("trashed") else None,
                duplicate_from_id=original.id if fields.pop("merged") else None,
                **fields,
            )
            for fields in map(dict, posts)
        ]
        Post.objects.bulk_create(rows)
        replies = [
            Comment(account=acme.account, post_id=rows[0].id, user_id=users[fields.pop("user")].id, **fields)
            for fields in (map(dict, comments) if rows else [])
        ]
        Comment.objects.bulk_create(replies)
        codes = {status.id: status.code for status in statuses}
        category = categories[1 if path == "Second" else 0]
        for user in users:
            is_team, client = user != acme.carol, acme.xml(user)

            def is_public(post):
                return not post.private and post.approved and post.kind != "private"

            visible_posts = [
                post
                for post in [*rows, original]
                if post.category_id == category.id and post.trashed_at is None and post.duplicate_from_id is None
                if is_public(post) or is_team or post.user_id == user.id
                if order != "accepted" or codes[post.status_id] == "accepted"
            ]
            visible_posts.sort(key=ORDERS.get(order, ORDERS["new"]), reverse=order != "old")
            expected = array_element(
                "posts", "post", [fields_in_list(post) for post in page_of(visible_posts, page, size)], 0, zone
            )
            query = f"order={order}&page={page}&per_page={size}"
            assert client.get(f"/{path or ''}?{query}").content == xml(expected)

            for number, post in enumerate(rows):
                response = client.get(f"/app/posts/{post.id}.xml")
                if post.trashed_at or not (is_team or is_public(post) or post.user_id == user.id):
                    assert response.status_code == 404
                    continue
                expected_comments = (
                    sorted(replies, key=lambda reply: (reply.created_at, reply.id)) if number == 0 else []
                )
                expected = array_element(
                    "comments", "comment", [comment_fields(reply) for reply in expected_comments], 1, zone
                )
                expected += parent_element("post", all_fields_of(post, codes[post.status_id]), 1, zone)
                assert response.content == xml(f"<hash>\n{expected}</hash>\n")


# JSON


def to_json(value, zone: str) -> str:
    """Return compact JSON, with times in the zone."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{to_json(key, zone)}:{to_json(item, zone)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(to_json(item, zone) for item in value) + "]"
    if isinstance(value, datetime):
        return to_json(format_time(value, zone), zone)
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    return json.dumps(value.isoformat() if isinstance(value, date) else value, ensure_ascii=False)


def resource(row, serializer: type[ResourceSerializer], **fields) -> dict:
    """Return the fields of the serializer in their order, with values of the row."""
    return {name: fields[name] if name in fields else getattr(row, name) for name in serializer.names}


def in_jsonb_order(pairs: dict) -> dict:
    """Return the pairs in the key order of `jsonb`."""
    return {key: pairs[key] for key in sorted(pairs, key=lambda key: (len(key), key))}


def client_data(client: Client, typed_fields: dict, related_rows: list[list]) -> dict:
    """Return the data of a client. A completed task counts as activity."""
    rows_of_client = [
        [row for row in rows if row.client_id == client.id and not row.trashed_at] for rows in related_rows
    ]
    tasks = rows_of_client[1]
    last_activity = max([client.created_at, *(task.completed_at for task in tasks if task.completed_at)])
    counts = {
        f"{name}_count": len(rows) for name, rows in zip(("contacts", "posts", "deals"), rows_of_client, strict=True)
    }
    additional = client.additional_fields | typed_fields
    fields = {
        "additional_fields": dict(sorted(additional.items())),
        "external_ids": in_jsonb_order(client.external_ids),
    }
    data = resource(client, ClientSerializer, **counts, last_activity=last_activity, **fields)
    return data | {name: typed_fields[name] for name in TYPED if name in typed_fields}


common_fields = {"created_at": times, "updated_at": times, "trashed": st.sampled_from([False, False, False, True])}
fields_of_client_rows = {"client": optional(st.integers(0, 4)), **common_fields}
TYPED = {
    "string1": texts,
    "integer10": numbers,
    "decimal1": decimals,
    "boolean1": flags,
    "date1": st.dates(date(2, 1, 1), date(9998, 1, 1)),
    "datetime1": times,
}
clients = lists_of(
    5,
    name=names,
    email=optional(texts),
    note=optional(texts),
    phone=optional(texts),
    company=optional(flags),
    discount=optional(decimals),
    tags=st.lists(names, max_size=2, unique=True),
    external_ids=st.lists(st.sampled_from(["shop", "a.b", "Z", "key_10"]), max_size=3, unique=True),
    additional_fields=st.dictionaries(st.text("abcąż '%", min_size=1, max_size=5), texts | numbers | flags, max_size=3),
    typed=st.fixed_dictionaries({}, optional=TYPED),
    responsible=flags,
    **common_fields,
)
contacts = lists_of(4, name=names, email=optional(texts), lists=st.sets(st.integers(0, 2)), **fields_of_client_rows)
deals = lists_of(
    4, name=names, price=optional(decimals), expected_close_date=optional(st.dates()), **fields_of_client_rows
)
tasks = lists_of(
    4,
    title=names,
    content=texts,
    closed=flags,
    priority=st.integers(-9, 9),
    scheduled_at=optional(times),
    response=optional(texts),
    **fields_of_client_rows,
)


@random_rows
@given(
    clients,
    contacts,
    deals,
    tasks,
    zones,
    st.sampled_from(["id", "-id", "created_at", "-updated_at"]),
    st.integers(1, 2),
    st.integers(1, 9),
)
def test_resources_equal_the_simple_implementation(acme, clients, contacts, deals, tasks, zone, order, page, size):
    with RolledBack():
        acme.account.time_zone = zone
        acme.account.save()
        status = acme.account.default_status("post")
        users = {"creator_id": acme.alice.id, "updater_id": acme.bob.id}

        def create_rows(model, items: list[dict], **fields) -> list:
            rows = []
            for values in items:
                client_index, trashed = values.pop("client", None), values.pop("trashed")
                if client_index is not None and client_index < len(client_rows):
                    values["client_id"] = client_rows[client_index].id
                values["trashed_at"] = values["created_at"] if trashed else None
                rows.append(model(account=acme.account, **values, **fields))
            model.objects.bulk_create(rows)
            return rows

        client_rows, client_values = [], [dict(fields) for fields in clients]
        typed = [fields.pop("typed") for fields in client_values]
        for number, fields in enumerate(client_values):
            fields["external_ids"] = {key: f"{number}{key}" for key in fields["external_ids"]}
            fields["responsible_id"] = acme.alice.id if fields.pop("responsible") else None
            json_values = {
                key: value.isoformat() if isinstance(value, date) else value for key, value in typed[number].items()
            }
            fields["additional_fields"] = fields["additional_fields"] | json_values
        client_rows = create_rows(Client, client_values, **users)
        for row, fields in zip(client_rows, clients, strict=True):
            # `client_data` adds the typed fields again, with their Python values.
            row.additional_fields = fields["additional_fields"]
        ClientExternalId.objects.bulk_create(
            ClientExternalId(account=acme.account, key=key, value=value, holder_id=row.id)
            for row in client_rows
            if row.trashed_at is None
            for key, value in row.external_ids.items()
        )
        contact_values = [dict(fields) for fields in contacts]
        list_indexes = [fields.pop("lists") for fields in contact_values]
        contact_rows = create_rows(Contact, contact_values, **users)
        lists = [ContactList(account=acme.account, name=f"{number}", **users) for number in range(3)]
        lists[2].trashed_at = datetime(2026, 1, 1, tzinfo=UTC)
        ContactList.objects.bulk_create(lists)
        ContactListMembership.objects.bulk_create(
            ContactListMembership(account=acme.account, contact_id=row.id, contact_list_id=lists[index].id)
            for row, indexes in zip(contact_rows, list_indexes, strict=True)
            for index in indexes
        )
        deal_rows = create_rows(Deal, [dict(fields) for fields in deals], currency="EUR", **users)
        task_values = [
            {**fields, "completed_at": fields["created_at"] if fields["closed"] else None} for fields in tasks
        ]
        task_rows = create_rows(Post, task_values, task_kind="task", user_id=acme.bob.id, status_id=status.id)
        expected_data = {
            "clients": [
                (row, client_data(row, typed_values, [contact_rows, task_rows, deal_rows]))
                for row, typed_values in zip(client_rows, typed, strict=True)
            ],
            "contacts": [
                (row, resource(row, ContactSerializer, contact_list_ids=sorted(lists[n].id for n in indexes if n != 2)))
                for row, indexes in zip(contact_rows, list_indexes, strict=True)
            ],
            "deals": [(row, resource(row, DealSerializer)) for row in deal_rows],
            "tasks": [
                (
                    row,
                    resource(row, PostSerializer, nick="Bob Nowak", status="new", points=row.votes_cache, post_id=None),
                )
                for row in task_rows
            ],
        }
        json_client, column = acme.json(), order.removeprefix("-")
        for kind, pairs in expected_data.items():
            live = [(row, data) for row, data in pairs if row.trashed_at is None]
            live.sort(key=lambda pair: (getattr(pair[0], column), pair[0].id), reverse=order.startswith("-"))
            expected = to_json([data for _, data in page_of(live, page, size)], zone)
            response = json_client.get(f"/app/{kind}.json?order={order}&page={page}&per_page={size}")
            assert response.text == expected
            path_of_kind = "posts" if kind == "tasks" else kind
            for row, data in live:
                assert json_client.get(f"/app/{path_of_kind}/{row.id}.json").text == to_json(data, zone)
                if kind == "clients" and row.external_ids:
                    query = "&".join(f"external_ids[{key}]={value}" for key, value in row.external_ids.items())
                    assert json_client.get(f"/app/clients.json?{query}").text == to_json([data], zone)
