"""Fakes of Canny and Nolt, which answer as the documentation of their APIs describes."""

import contextlib
import json
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "secret-key-1"


class FakeService:
    """A server that answers POST requests in JSON, or with the next of `failures`: a status, headers and a body."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.failures: list[tuple[int, dict[str, str], str]] = []

    def answer(self, path: str, body: dict[str, Any], headers: Any) -> tuple[int, Any]:
        raise NotImplementedError

    @contextlib.contextmanager
    def running(self) -> Iterator[str]:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                assert self.headers["Content-Type"] == "application/json"
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.requests[self.path] += 1
                if service.failures:
                    status, headers, text = service.failures.pop(0)
                else:
                    status, answer = service.answer(self.path, body, self.headers)
                    headers, text = {}, json.dumps(answer)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(text.encode())), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def canny_user(number: int, name: str, email: str | None, *, is_admin: bool = False) -> dict[str, Any]:
    return {
        "id": f"{number:024x}",
        "created": "2018-01-02T03:04:05.000Z",
        "email": email,
        "isAdmin": is_admin,
        "name": name,
        "url": "https://acme.canny.io/admin/users/x",
        "userID": str(number),
    }


ANN = canny_user(1, "Ann", "Ann@example.com")
BEN = canny_user(2, "Ben", "ben@example.com")
ADA = canny_user(3, "Ada", "ada@example.com", is_admin=True)
GUEST = canny_user(4, "Guest", None)


class FakeCanny(FakeService):
    """A company with a public board and a private one."""

    def __init__(self) -> None:
        super().__init__()
        ideas = {"id": "b" * 24, "name": "Ideas", "isPrivate": False, "postCount": 2}
        inside = {"id": "c" * 24, "name": "Inside", "isPrivate": True, "postCount": 1}
        dark = {
            "id": "a1".zfill(24),
            "author": ANN,
            "board": {"id": ideas["id"], "name": "Ideas"},
            "category": {"id": "d" * 24, "name": "Design"},
            "changeComment": {"value": "In the **next** release", "imageURLs": []},
            "created": "2019-05-06T07:08:09.000Z",
            "customFields": [{"id": "f", "name": "Effort", "value": 3}],
            "details": "Please",
            "imageURLs": ["https://canny.io/images/1.png"],
            "mergeHistory": [
                {
                    "created": "2020-01-01T00:00:00.000Z",
                    "post": {
                        "id": "a2".zfill(24),
                        "title": "Night colours",
                        "details": "Same",
                        "status": "closed",
                        "created": "2019-06-01T00:00:00.000Z",
                    },
                }
            ],
            "owner": ADA,
            "score": 2,
            "status": "in progress",
            "tags": [{"id": "e" * 24, "name": "UI"}],
            "title": "Dark mode",
        }
        secret = {
            "id": "a3".zfill(24),
            "author": GUEST,
            "board": {"id": inside["id"], "name": "Inside"},
            "category": None,
            "created": "2019-07-01T00:00:00.000Z",
            "details": "",
            "imageURLs": [],
            "mergeHistory": [],
            "status": "on ice",
            "tags": [],
            "title": "x" * 300,
        }
        post = {"id": dark["id"], "title": "Dark mode"}
        self.lists: dict[str, list[dict[str, Any]]] = {
            "boards": [ideas, inside],
            "posts": [dark, secret],
            "items": [
                self.comment(1, BEN, post, "Me too", imageURLs=["https://canny.io/images/2.png"]),
                self.comment(2, ADA, post, "Costs a lot", internal=True),
                self.comment(3, GUEST, post, "And me"),
            ],
            "votes": [self.vote(1, ANN, post), self.vote(2, BEN, post), self.vote(3, GUEST, post)],
        }

    @staticmethod
    def comment(number: int, author: Any, post: Any, value: str, **values: Any) -> dict[str, Any]:
        created = f"2020-02-0{number}T00:00:00.000Z"
        fields = {"internal": False, "private": False, "imageURLs": [], "parentID": None, **values}
        return {
            "id": f"{number + 160:024x}",
            "author": author,
            "post": post,
            "value": value,
            "created": created,
            **fields,
        }

    @staticmethod
    def vote(number: int, voter: Any, post: Any) -> dict[str, Any]:
        created = f"2020-03-0{number}T00:00:00.000Z"
        return {"id": f"{number + 176:024x}", "voter": voter, "post": post, "created": created, "by": None}

    def answer(self, path: str, body: dict[str, Any], headers: Any) -> tuple[int, Any]:
        if body["apiKey"] != KEY:
            return 400, {"error": "invalid api key"}
        name = {
            "/api/v1/boards/list": "boards",
            "/api/v1/posts/list": "posts",
            "/api/v2/comments/list": "items",
            "/api/v1/votes/list": "votes",
        }[path]
        rows = self.lists[name]
        if name == "boards":
            assert body == {"apiKey": KEY}
            return 200, {"boards": rows}
        if name == "items":
            start = int(body.get("cursor") or 0)
            assert set(body) <= {"apiKey", "limit", "cursor"}
            end = start + body["limit"]
            return 200, {"items": rows[start:end], "hasNextPage": end < len(rows), "cursor": str(end)}
        assert body.get("sort") == ("oldest" if name == "posts" else None)
        end = body["skip"] + body["limit"]
        return 200, {name: rows[body["skip"] : end], "hasMore": end < len(rows)}


class FakeNolt(FakeService):
    """A board with a suggestion whose comments are on two pages."""

    def __init__(self) -> None:
        super().__init__()
        self.queries: list[dict[str, Any]] = []
        zoe = {"ssoId": "auth0|7", "name": "Zoe"}
        self.comments = [
            self.comment(2, "Me too", {"ssoId": None, "name": "Max"}),
            self.comment(3, "Buy pills", zoe, "REJECTED"),
            self.comment(1, "So that my eyes rest", zoe),
            self.comment(4, "Soon", zoe, "PENDING"),
        ]

    @staticmethod
    def comment(number: int, text: str, user: Any, status: str = "APPROVED") -> dict[str, Any]:
        created = f"2021-02-0{number}T00:00:00.000Z"
        return {"id": f"c{number}", "text": text, "user": user, "moderationStatus": status, "dateCreated": created}

    def page_of_comments(self, start: int) -> dict[str, Any]:
        return {
            "nodes": self.comments[start : start + 2],
            "hasMore": start + 2 < len(self.comments),
            "cursor": str(start + 2),
        }

    def answer(self, path: str, body: dict[str, Any], headers: Any) -> tuple[int, Any]:
        assert path == "/api/v1/graphql"
        if headers["apikey"] != KEY:
            error = {"message": "Invalid Api Key", "extensions": {"code": "UNAUTHENTICATED"}}
            return 200, {"errors": [error], "data": None}
        if headers["ssotype"] is None:
            error = {"message": "ssotype is required in headers", "extensions": {"code": "BAD_REQUEST"}}
            return 400, {"errors": [error]}
        assert (headers["ssotype"], headers["ssoid"]) == ("SSO", "admin-1")
        self.queries.append(body)
        query, variables = body["query"], body["variables"]
        if "listStatuses" in query:
            statuses = [("s1", "In Progress", "CUSTOM"), ("s2", "Completed", "COMPLETED"), ("s3", "None", "UNASSIGNED")]
            data: dict[str, Any] = {
                "board": {"id": "board_1", "name": "Feedback"},
                "listStatuses": [{"id": id, "name": name, "type": type} for id, name, type in statuses],
                "users": [
                    {"ssoId": "auth0|7", "name": "Zoe", "email": "zoe@example.com"},
                    {"ssoId": None, "name": "Max", "email": "max@example.com"},
                ],
            }
        elif "post(" in query:
            assert variables["id"] == "p1"
            data = {"post": {"comments": self.page_of_comments(int(variables["cursor"]))}}
        else:
            post = {
                "id": "p1",
                "title": "Dark mode",
                "dateCreated": "2021-02-01T00:00:00.000Z",
                "statusId": "s1",
                "upvoteCount": 5,
                "moderationStatus": "APPROVED",
                "properties": [{"id": "x"}],
                "comments": self.page_of_comments(0),
            }
            spam = {**post, "id": "p2", "moderationStatus": "REJECTED"}
            empty = {"nodes": [], "hasMore": False, "cursor": None}
            done = {**post, "id": "p3", "title": "Done", "statusId": "s3", "upvoteCount": 0, "properties": []}
            pages = {None: ([post, spam], True, "n2"), "n2": ([{**done, "comments": empty}], False, None)}
            nodes, has_more, cursor = pages[variables["cursor"]]
            data = {"posts": {"nodes": nodes, "hasMore": has_more, "cursor": cursor}}
        return 200, {"data": data}
