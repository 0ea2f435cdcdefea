"""Services from which data are moved by an API key: Canny (developers.canny.io/api-reference) and Nolt (nolt.io/docs/publicapi).

Their rows get the names of the fields here. Boards become categories of the default forum.
"""

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _

from team.move_in.client import OldServer, OldServerError, Row
from team.move_in.reading import MAX_PAGES, OldPage, OldRow, key_of

MAX_TITLE = 255
# The pages after which a list of the comments of one suggestion is refused as endless.
MAX_COMMENT_PAGES = 200
# The closed statuses of Canny, and the codes of statuses here that have the meaning of another one there.
CLOSED = ("complete", "closed")
SAME_STATUSES = {"open": "new", "in progress": "started", "complete": "completed"}


@dataclass
class Service(OldServer):
    """A service with a fixed address, which answers POST requests in JSON."""

    ADDRESS: ClassVar[str]
    # The kinds of the lists, in the order in which they are read.
    KINDS: ClassVar[tuple[str, ...]]
    # The names of statuses that every account of the service has, and that no answer lists.
    STATUSES: ClassVar[tuple[str, ...]] = ()
    READ_STATUSES = (200, 400)
    hint = ""

    def post(self, path: str, value: object, *headers: tuple[str, str]) -> Row:
        """Return the JSON object that answers a JSON value. Raise OldServerError."""
        own = [("Accept", "application/json"), ("Content-Type", "application/json"), *headers]
        answer = self.parse_json(self.fetch(f"{self.address}{path}", own, "POST", json.dumps(value).encode()))
        answer = answer if isinstance(answer, dict) else {"error": answer}
        # A text of Canny, or objects of GraphQL.
        for error in [answer.get("error"), *(row.get("message") for row in objects(answer, "errors"))]:
            if error and "api key" in str(error).casefold():
                raise OldServerError(self.describe(_("{name} refuses the credentials. Enter them again.")))
            if error:
                text = "".join(letter for letter in str(error)[:200] if letter.isprintable())
                raise OldServerError(self.describe(_("{name} answers with an error: {text}"), text=text))
        return answer

    def listed(self, row: Row, name: str) -> list[Row]:
        """Return the objects of a list that the answer must have. Raise OldServerError."""
        if not isinstance(row.get(name), list):
            raise OldServerError(self.describe(_("{name} does not answer in JSON. {hint}")))
        return objects(row, name)

    def read_page(self, position: dict[str, Any]) -> OldPage:
        """Return the page at a position. Raise OldServerError."""
        raise NotImplementedError

    def read_outline(self) -> list[OldRow]:
        """Return the boards and statuses. Raise OldServerError."""
        rows = [row for row in self.read_page({"kind": 0, "page": 1}).rows if row.kind != "user"]
        return rows + [status_row(name, closed=name in CLOSED) for name in self.STATUSES]


class Canny(Service):
    name = "Canny"
    ADDRESS = "https://canny.io"
    LISTS = (
        ("category", "/api/v1/boards/list", "boards"),
        ("suggestion", "/api/v1/posts/list", "posts"),
        ("comment", "/api/v2/comments/list", "items"),
        ("vote", "/api/v1/votes/list", "votes"),
    )
    KINDS = tuple(kind for kind, _path, _name in LISTS)
    STATUSES = ("open", "under review", "planned", "in progress", "complete", "closed")
    PAGE_SIZE = 100

    def read_page(self, position: dict[str, Any]) -> OldPage:
        index, number = position["kind"], position["page"]
        kind, path, name = self.LISTS[index]
        body: Row = {"limit": self.PAGE_SIZE} if index else {}
        if kind != "comment":
            body |= {"skip": (number - 1) * self.PAGE_SIZE} if index else {}
        elif cursor := position.get("cursor"):
            body["cursor"] = cursor
        if kind == "suggestion":
            # New posts come last, so they move no page.
            body["sort"] = "oldest"
        answer = self.post(path, {"apiKey": self.token, **body})
        found = self.listed(answer, name)
        private = position.get("private") or [key_of(row.get("id")) for row in found if row.get("isPrivate") is True]
        page = OldPage([], {"kind": index + 1, "page": 1, "private": private})
        first, has_more = (
            [key_of(row.get("id")) for row in found[:1]],
            answer.get("hasMore") or answer.get("hasNextPage"),
        )
        # A server that ignores the position answers with the same rows again.
        if has_more and first != position.get("first") and number < MAX_PAGES:
            page.next = {"kind": index, "page": number + 1, "private": private, "first": first}
            page.next["cursor"] = key_of(answer.get("cursor"))
        for row in found:
            page.rows += getattr(self, f"read_{kind}")(row, page)
        return page

    def read_category(self, board: Row, page: OldPage) -> list[OldRow]:
        return [OldRow("category", {"id": board.get("id"), "name": board.get("name")})]

    def read_suggestion(self, post: Row, page: OldPage) -> list[OldRow]:
        """Return a suggestion, and those that were merged into it."""
        board, answer = part(post, "board"), part(post, "changeComment")
        is_private = board.get("id") in page.next["private"]
        if is_private:
            page.lost["private"][key_of(board.get("name"))] += 1
        status = str(post.get("status") or "open")
        page.linked.append(status_row(status, closed=status in CLOSED))
        tags = [row.get("name") for row in (*objects(post, "tags"), part(post, "category"))]
        fields = {key_of(row.get("name")): row.get("value") for row in objects(post, "customFields")}
        data = {
            "id": post.get("id"),
            "title": str(post.get("title") or "")[:MAX_TITLE],
            "content": text_of(post, "details", page),
            "response": text_of(answer, "value", page) or None,
            "status_id": status,
            "category_id": board.get("id"),
            "tags": [str(name).replace(",", " ") for name in tags if name],
            "private": is_private,
            "additional_fields": {name: value for name, value in fields.items() if value is not None},
            "responsible_id": add_person(part(post, "owner"), page),
            **self.common(post, page),
        }
        rows = [OldRow("suggestion", data)]
        for merged in objects(post, "mergeHistory"):
            [row] = self.read_suggestion({"board": board, **part(merged, "post"), "mergeHistory": []}, page)
            row.data["merged_into"] = post.get("id")
            rows.append(row)
        return rows

    def read_comment(self, comment: Row, page: OldPage) -> list[OldRow]:
        # Only its author and the team see a private comment.
        is_internal = comment.get("internal") is True or comment.get("private") is True
        data = {"comment": text_of(comment, "value", page), "internal": is_internal}
        return [OldRow("comment", {**data, "id": comment.get("id"), **self.common(comment, page)})]

    def read_vote(self, vote: Row, page: OldPage) -> list[OldRow]:
        data = self.common({**vote, "author": vote.get("voter")}, page)
        if data["user_id"] is None:
            page.lost["people"]["vote"] += 1
            return []
        return [OldRow("vote", {**data, "id": vote.get("id")})]

    def common(self, row: Row, page: OldPage) -> Row:
        """Return the suggestion, the author and the time of a row."""
        author = part(row, "author")
        people = {"user_id": add_person(author, page), "nick": author.get("name")}
        return {**people, "post_id": part(row, "post").get("id"), "created_at": row.get("created"), "agent": self.name}


class Nolt(Service):
    """One board of Nolt. `login` is the SSO id of a user, in whose name requests are sent. Users have no other id."""

    name = "Nolt"
    ADDRESS = "https://api.nolt.io"
    KINDS = ("user", "suggestion")
    # 60 requests per minute are allowed.
    interval = 1.0
    PAGE_SIZE = 10
    BOARD = "{ board { id name } listStatuses { id name type } users { ssoId name email } }"
    COMMENTS = "nodes { id text dateCreated moderationStatus user { ssoId name } } hasMore cursor"
    POSTS = (
        "query($cursor: String, $limit: Int) { posts(cursor: $cursor, limit: $limit, sort: NEWEST) { nodes { id title "
        f"dateCreated statusId upvoteCount moderationStatus properties {{ id }} comments {{ {COMMENTS} }} }} "
        "hasMore cursor } }"
    )
    MORE = f"query($id: String!, $cursor: String) {{ post(id: $id) {{ comments(cursor: $cursor) {{ {COMMENTS} }} }} }}"

    def ask(self, query: str, **variables: object) -> Row:
        """Return the data that answer a query of GraphQL. Raise OldServerError."""
        user = [("ssotype", "SSO"), ("ssoid", self.login)] if self.login else []
        body = {"query": query, "variables": variables}
        return part(self.post("/api/v1/graphql", body, ("apikey", self.token), *user), "data")

    def read_page(self, position: dict[str, Any]) -> OldPage:
        return self.read_posts(position) if position["kind"] else self.read_board()

    def read_board(self) -> OldPage:
        data = self.ask(self.BOARD)
        board = part(data, "board")
        page = OldPage([OldRow("category", board)], {"kind": 1, "page": 1, "board": key_of(board.get("id"))})
        page.next |= {"MERGED": [], "UNASSIGNED": []}
        for row in self.listed(data, "listStatuses"):
            if row.get("type") in ("MERGED", "UNASSIGNED"):
                page.next[row["type"]].append(key_of(row.get("id")))
            if row.get("type") != "UNASSIGNED":
                closed = row.get("type") != "CUSTOM"
                page.rows.append(status_row(str(row.get("name") or ""), row.get("id"), closed=closed))
        for user in self.listed(data, "users"):
            if user.get("ssoId") and user.get("email"):
                id = f"{board.get('id')}/{user['ssoId']}"
                page.rows.append(OldRow("user", {**user, "id": id, "role": "member"}))
            else:
                page.lost["people"]["user"] += 1
        return page

    def read_posts(self, position: dict[str, Any]) -> OldPage:
        answer = part(self.ask(self.POSTS, cursor=position.get("cursor"), limit=self.PAGE_SIZE), "posts")
        page, cursor = OldPage([], {"kind": 2, "page": 1}), key_of(answer.get("cursor"))
        if answer.get("hasMore") and cursor not in ("", position.get("cursor")) and position["page"] < MAX_PAGES:
            page.next = {**position, "page": position["page"] + 1, "cursor": cursor}
        posts = [post for post in self.listed(answer, "nodes") if post.get("moderationStatus") != "REJECTED"]
        page.rows += [self.read_post(post, page, position) for post in posts]
        return page

    def read_post(self, post: Row, page: OldPage, position: dict[str, Any]) -> OldRow:
        """Return a suggestion with its comments. The oldest comment is its text."""
        answer = part(post, "comments")
        found = self.listed(answer, "nodes")
        for _number in range(MAX_COMMENT_PAGES):
            if not answer.get("hasMore"):
                break
            data = self.ask(self.MORE, id=post.get("id"), cursor=answer.get("cursor"))
            answer = part(part(data, "post"), "comments")
            found += self.listed(answer, "nodes")
        else:
            raise OldServerError(self.describe(_("{name} sends too large an answer.")))
        found.sort(key=lambda row: str(row.get("dateCreated")))
        first, *others = found or [{}]
        if objects(post, "properties"):
            page.lost["fields"]["suggestion.properties"] += 1
        if (status_id := post.get("statusId")) in position["MERGED"]:
            page.lost["merged"]["suggestion"] += 1
        data = {
            **self.common({**post, "user": first.get("user")}, position),
            "title": str(post.get("title") or "")[:MAX_TITLE],
            "content": first.get("text"),
            "status_id": None if status_id in position["UNASSIGNED"] else status_id,
            "category_id": position["board"],
            "votes_cache": post.get("upvoteCount"),
        }
        others = [row for row in others if row.get("moderationStatus") != "REJECTED"]
        comments = [{**self.common(row, position), "comment": row.get("text")} for row in others]
        return OldRow("suggestion", data, comments)

    def common(self, row: Row, position: dict[str, Any]) -> Row:
        user = part(row, "user")
        return {
            "id": row.get("id"),
            "user_id": f"{position['board']}/{user['ssoId']}" if user.get("ssoId") else None,
            "nick": user.get("name"),
            "approved": row.get("moderationStatus") in (None, "APPROVED"),
            "created_at": row.get("dateCreated"),
            "agent": self.name,
        }


SERVICES: dict[str, type[Service]] = {"canny": Canny, "nolt": Nolt}


def part(row: Row, name: str) -> Row:
    """Return the object of a field, or an empty one."""
    value = row.get(name)
    return value if isinstance(value, dict) else {}


def objects(row: Row, name: str) -> list[Row]:
    value = row.get(name)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def status_row(name: str, id: object = None, *, closed: bool) -> OldRow:
    data = {"code": slugify(name, allow_unicode=True), "name": name[:1].upper() + name[1:], "closed": closed}
    return OldRow("status", {"id": id or name, **data, "like": SAME_STATUSES.get(name.casefold())})


def add_person(user: Row, page: OldPage) -> object:
    """Add a user of Canny to the page, and return the id. Return None for one without an e-mail."""
    if not user.get("email") or not user.get("id"):
        return None
    role = "admin" if user.get("isAdmin") is True else "member"
    data = {name: user.get(name) for name in ("id", "email", "name")}
    page.linked.append(OldRow("user", {**data, "role": role, "created_at": user.get("created")}))
    return user["id"]


def text_of(row: Row, name: str, page: OldPage) -> str:
    """Return a text with links to its pictures."""
    urls = [str(url) for url in row.get("imageURLs") or ()] if isinstance(row.get("imageURLs"), list) else []
    if urls:
        page.lost["pictures"]["text"] += len(urls)
    return "\n\n".join(text for text in (str(row.get(name) or ""), *urls) if text)
