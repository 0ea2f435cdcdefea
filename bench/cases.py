"""The benchmark cases: their requests, the expected responses and the targets."""

import base64
import random
import re
from dataclasses import dataclass
from urllib.parse import quote

from bench import rows
from bench.data import LOGIN, PASSWORD

# A placeholder in a body for a value that is unique to each request.
UNIQUE = "@unique@"
# The number of rows that a case with ids or names rotates through.
ROTATED = 1_000
HOST = "bench.localhost"

XML, JSON = "application/xml", "application/json"


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    paths: tuple[str, ...]
    # A pattern, and how often it must match in a response.
    shows: str
    times: int
    # Targets in requests per second and milliseconds. They are for guidance, because machines differ. Some cases have none.
    wanted: int | None = None
    p99: int | None = None
    method: str = "GET"
    body: str | None = None
    status: int = 200
    # True if the response is the same for sets of other sizes.
    scales: bool = True

    def headers(self, token: str) -> dict[str, str]:
        basic = base64.b64encode(f"{LOGIN}:{PASSWORD}".encode()).decode()
        credentials = f"Basic {basic}" if self.kind == XML else f"Bearer {token}"
        return {"Host": HOST, "Authorization": credentials, "Content-Type": self.kind, "Accept": "*/*"}

    def fault(self, status: int, body: bytes) -> str | None:
        """Return the error in a response, or None."""
        if status != self.status:
            return f"the status is {status} and not {self.status}: {body[:300]!r}"
        if (matches := len(re.findall(self.shows, body.decode()))) != self.times:
            return f"{self.shows!r} matches {matches} times and not {self.times} times: {body[:300]!r}"
        return None


def of(made: dict) -> list[Case]:
    """Return the cases for a set (`bench.data`)."""
    generator = random.Random(2)  # noqa: S311, every run asks for the same rows

    def sample_ids(first: int, last: int) -> list[int]:
        return generator.sample(range(first, last + 1), min(ROTATED, last - first + 1))

    clients = sample_ids(made["first_client"], made["last_client"])
    commented = sample_ids(made["first_commented"], made["last_post"])
    # The row number n of `bench.rows`.
    shop_ids = [100_000 + id - made["first_client"] + 1 for id in sample_ids(made["first_client"], made["last_client"])]
    pages = min(made["posts"], made["clients"]) // 25
    page, item = "<post>", r'"additional_fields":'
    posts_on_page = min(25, made["posts"])
    cases = [
        Case("posts, page 1", XML, ("/",), page, posts_on_page, 2000, p99=20),
        *(
            Case(f"posts, page {number:,}", XML, (f"/?page={number}",), page, 25, scales=number == 100)
            for number in (100, 10_000)
            if number <= pages
        ),
        Case(
            "post, 20 comments",
            XML,
            tuple(f"/app/posts/{id}.xml" for id in commented),
            "<comment>\n",
            rows.COMMENTS_PER_POST,
            1800,
        ),
        Case("me.xml", XML, ("/app/users/me.xml",), f"<login>{LOGIN}</login>", 1, 3000),
        Case("client by id", JSON, tuple(f"/app/clients/{id}.json" for id in clients), item, 1, 2500),
        Case("list of clients", JSON, ("/app/clients.json",), item, min(25, made["clients"]), 1500),
        Case(
            "client by ext. id",
            JSON,
            tuple(f"/app/clients.json?external_ids%5Bshop%5D={value}" for value in shop_ids),
            item,
            1,
            2000,
        ),
        *(
            # The search has results.
            Case(name, JSON, tuple(f"/app/clients.json?q={quote(text)}" for text in texts), r"^\[\{", 1, 400)
            for name, texts in searches(made).items()
        ),
        Case(
            "create a post",
            XML,
            ("/app/posts.xml",),
            "<votes-cache",
            1,
            1200,
            method="POST",
            body=f"<post><title>Post {UNIQUE}</title><content>Made by the benchmark.</content></post>",
            status=201,
        ),
        Case(
            "create a client",
            JSON,
            ("/app/clients.json",),
            item,
            1,
            1200,
            method="POST",
            body='{"client": {"name": "Client U", "email": "U@bench.example", "phone": "+48 600 100 200", "city": "Gdynia",'
            ' "external_ids": {"shop": "U"}}}'.replace("U", UNIQUE),
            status=201,
        ),
        Case(
            "update a client",
            JSON,
            tuple(f"/app/clients/{id}.json" for id in clients),
            item,
            1,
            method="PUT",
            body=f'{{"client": {{"note": "Changed {UNIQUE}", "street_no": "7"}}}}',
        ),
    ]
    if len({case.name for case in cases}) != len(cases):
        raise AssertionError("two cases have the same name")
    return cases


def searches(made: dict) -> dict[str, list[str]]:
    """Return search texts for existing clients, by case.

    A search ends if it has many exact matches, or the match of a number. With few matches it goes on to other forms and similar words.
    """
    many, few = [], []
    for step in range(1, 6):
        n = made["clients"] * step // 6 + 1
        first = rows.pick(rows.FIRST_NAMES, rows.FIRST_NAME_SEED, n)
        last = rows.pick(rows.SURNAME_STARTS, rows.SURNAME_START_SEED, n)
        last += rows.pick(rows.SURNAME_ENDS, rows.SURNAME_END_SEED, n)
        town = rows.pick(rows.CITIES, rows.CITY_SEED, n)
        many += [last, last[:5], town, str(100_000 + n)]
        # The last text has two letters swapped.
        few += [f"{first} {last} {n}", f"{first} {last} {town}", last[:2] + last[3] + last[2] + last[4:]]
    return {"search, many found": many, "search, few found": few}
