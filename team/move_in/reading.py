"""Reading the pages of the older server, in the order in which rows link to each other."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from team.move_in.client import PAGE_SIZE, NotOfferedError, OldServer, OldServerError, Row, as_rows

# The kinds in the order in which they are moved, with their lists in JSON. Clients and contacts link to each other, so that clients are
# read again if one of them links to a contact. The interface has categories in XML only.
KINDS: tuple[tuple[str, str], ...] = (
    ("user", "/app/users.json"),
    ("status", "/app/statuses.json"),
    ("category", ""),
    ("contact_list", "/app/contact_lists.json"),
    ("client", "/app/clients.json"),
    ("contact", "/app/contacts.json"),
    ("client", "/app/clients.json"),
    ("deal", "/app/deals.json"),
    ("task", "/app/tasks.json"),
    ("suggestion", "/app/posts.json"),
)
SECOND_PASS = 6
# The kinds of linked rows by the field, and those that are read one by one if their list was not read.
LINKS = {
    "responsible_id": "user",
    "user_id": "user",
    "creator_id": "user",
    "status_id": "status",
    "category_id": "category",
    "client_id": "client",
    "contact_id": "contact",
    "deal_id": "deal",
    "contact_list_ids": "contact_list",
}
SINGLE = {
    "client": "/app/clients/{}.json",
    "contact_list": "/app/contact_lists/{}.json",
    "contact": "/app/contacts/{}.json",
}
# A list of the older server that does not end is left after this page.
MAX_PAGES = 100_000


@dataclass
class OldRow:
    """A row of the older server, with the comments of a suggestion or task."""

    kind: str
    data: Row
    comments: list[Row] = field(default_factory=list)

    @property
    def key(self) -> str:
        """The key by which a further run recognizes the row: its id, or the login of a user in XML."""
        return key_of(self.data.get("id")) or str(self.data.get("login") or "")[:255]


@dataclass
class OldPage:
    """The rows of a page, and where to go on. The list is not offered if `is_missing`."""

    rows: list[OldRow]
    next: dict[str, Any]
    is_missing: bool = False
    # Users and statuses, which are written first unless they are known. `lost` counts what has no counterpart here, as the report does.
    linked: list[OldRow] = field(default_factory=list)
    lost: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def id_of(value: object) -> int | None:
    """Return an id that this service can have, or None."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 16:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**15 else None


def key_of(value: object) -> str:
    """Return an id as text, also one that this service can't have, or "" for another value."""
    if id := id_of(value):
        return str(id)
    return value if isinstance(value, str) and len(value) < 256 and value.isprintable() else ""


def read_page(server: OldServer, position: dict[str, Any]) -> OldPage:
    """Return the page at a position. Raise OldServerError."""
    index, page = position["kind"], position["page"]
    kind, path = KINDS[index]
    following = {"kind": index + 1, "page": 1}
    if page > MAX_PAGES:
        raise OldServerError(f"{path}?page={page}")
    try:
        if position.get("xml") or not path:
            raise NotOfferedError(path)
        rows = server.rows(path, page)
        found = [OldRow(kind, row) for row in rows]
        # A server that ignores the page answers with the same rows again.
        if found and found[0].key != position.get("first"):
            for row in found if kind in ("task", "suggestion") else ():
                row.comments = comments_of(server, row.data)
            return OldPage(found, {"kind": index, "page": page + 1, "first": found[0].key})
        return OldPage([], following)
    except NotOfferedError:
        try:
            return read_xml_page(server, kind, position) or OldPage([], following, is_missing=True)
        except NotOfferedError:
            return OldPage([], following, is_missing=page == 1)


def read_xml_page(server: OldServer, kind: str, position: dict[str, Any]) -> OldPage | None:
    """Return a page of the forum, or None for a kind that the forum does not have. Raise OldServerError."""
    following = {"kind": position["kind"] + 1, "page": 1}
    if kind == "user":
        users = as_rows(server.read_xml("/app/users/team.xml").get("users"))
        return OldPage([OldRow(kind, row) for row in users], following)
    if kind not in ("category", "suggestion"):
        return None
    categories = as_rows(server.read_xml("/app/categories.xml").get("categories"))
    if kind == "category":
        return OldPage([OldRow(kind, row) for row in categories], following)
    number, page = position.get("category", 0), position["page"]
    if number >= len(categories):
        return OldPage([], following)
    listed = as_rows(server.read_xml(f"/{categories[number].get('name')}", page=page).get("posts"))
    if not listed:
        return OldPage([], {**position, "xml": True, "category": number + 1, "page": 1})
    found = [row for each in listed if (row := read_xml_post(server, each)) is not None]
    return OldPage(found, {**position, "xml": True, "category": number, "page": page + 1})


def read_xml_post(server: OldServer, listed: Row) -> OldRow | None:
    """Return a suggestion with its comments, or None if it was deleted after it was listed."""
    id = id_of(listed.get("id"))
    try:
        found = server.read_xml(f"/app/posts/{id}.xml")
    except NotOfferedError:
        return None
    post = found.get("post")
    return OldRow("suggestion", post, as_rows(found.get("comments"))) if isinstance(post, dict) else None


def comments_of(server: OldServer, row: Row) -> list[Row]:
    """Return the comments of a suggestion or task. A server that lists them in XML only has them beside each suggestion."""
    found: list[Row] = []
    id = id_of(row.get("id"))
    for page in range(1, MAX_PAGES) if id else ():
        try:
            rows = server.rows(f"/app/posts/{id}/comments.json", page, internal="true")
        except NotOfferedError:
            break
        found += rows
        if len(rows) < PAGE_SIZE:
            break
    return found


def read_single(server: OldServer, kind: str, id: int) -> OldRow | None:
    """Return one client, contact or contact list, or None if it is not there."""
    try:
        row = server.read_json(SINGLE[kind].format(id))
    except NotOfferedError:
        return None
    row = row.get(kind, row) if isinstance(row, dict) else None
    return OldRow(kind, {**row, "id": id}) if isinstance(row, dict) else None
