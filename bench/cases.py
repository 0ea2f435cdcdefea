"""What is measured: the requests of each case, what its answers look like, and what is asked of it."""

import base64
import random
import re
from dataclasses import dataclass
from urllib.parse import quote

from bench import rows
from bench.data import LOGIN, PASSWORD

# Stands in a body for what is different in each request.
UNIQUE = "@unique@"
# A case that names rows goes through so many of them.
ROTATED = 1_000
HOST = "bench.localhost"

XML, JSON = "application/xml", "application/json"


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    paths: tuple[str, ...]
    # In an answer, so often.
    shows: str
    times: int
    # Requests a second, for guidance: machines differ.
    wanted: int
    method: str = "GET"
    body: str | None = None
    status: int = 200
    # What a set of another size answers just so.
    scales: bool = True

    def headers(self, token: str) -> dict[str, str]:
        basic = base64.b64encode(f"{LOGIN}:{PASSWORD}".encode()).decode()
        credentials = f"Basic {basic}" if self.kind == XML else f"Bearer {token}"
        return {"Host": HOST, "Authorization": credentials, "Content-Type": self.kind, "Accept": "*/*"}

    def fault(self, status: int, body: bytes) -> str | None:
        """What is wrong with an answer, if anything is."""
        if status != self.status:
            return f"the status is {status} and not {self.status}: {body[:300]!r}"
        if (found := len(re.findall(self.shows, body.decode()))) != self.times:
            return f"{self.shows!r} is in it {found} times and not {self.times} times: {body[:300]!r}"
        return None


def of(made: dict) -> list[Case]:
    """The cases on a set (`bench.data`)."""
    chance = random.Random(2)  # noqa: S311, every run asks for the same rows

    def some(first: int, last: int) -> list[int]:
        return chance.sample(range(first, last + 1), min(ROTATED, last - first + 1))

    clients = some(made["first_client"], made["last_client"])
    commented = some(made["first_commented"], made["last_post"])
    # The n of `bench.rows`.
    shop_ids = [100_000 + id - made["first_client"] + 1 for id in some(made["first_client"], made["last_client"])]
    pages = min(made["posts"], made["clients"]) // 25
    page, item = "<post>", r'"additional_fields":'
    listed = min(25, made["posts"])
    found = [
        Case("posts, page 1", XML, ("/",), page, listed, 2000),
        *(
            Case(f"posts, page {number:,}", XML, (f"/?page={number}",), page, 25, 1000, scales=number == 100)
            for number in (100, 10_000)
            if number <= pages
        ),
        Case(
            "post, 20 comments",
            XML,
            tuple(f"/app/posts/{id}.xml" for id in commented),
            "<comment>\n",
            rows.COMMENTS_EACH,
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
        Case(
            "search of clients",
            JSON,
            tuple(f"/app/clients.json?q={quote(text)}" for text in searches(made)),
            r"^\[\{",
            1,
            400,
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
            1200,
            method="PUT",
            body=f'{{"client": {{"note": "Changed {UNIQUE}", "street_no": "7"}}}}',
        ),
    ]
    if len({case.name for case in found}) != len(found):
        raise AssertionError("a case is known by its name")
    return found


def searches(made: dict) -> list[str]:
    """What people type: surnames, whole names, beginnings, a town with a name, parts of numbers, typing errors."""
    first, start, end = rows.FIRST_NAMES, rows.SURNAME_STARTS, rows.SURNAME_ENDS
    surnames = [start[n] + end[n % 3] for n in range(0, 24, 4)]
    whole = [f"{first[n]} {start[(n * 7) % len(start)]}ski" for n in range(6)]
    begun = [f"{start[n][:5]}" for n in (1, 9, 13)]
    towns = [f"{first[n]} {rows.CITIES[n]}" for n in (4, 8, 12)]
    numbers = [str(100_000 + made["clients"] // part) for part in (2, 3, 5)]
    # Two letters swapped.
    typed = [text[:2] + text[3] + text[2] + text[4:] for text in surnames[:3]]
    return [*surnames, *whole, *begun, *towns, *numbers, *typed]
