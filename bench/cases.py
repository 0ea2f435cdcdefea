"""The benchmark cases: their requests, and the expected responses."""

import base64
import random
import re
from dataclasses import dataclass
from urllib.parse import quote

from bench import rows
from bench.data import LOGIN, PASSWORD

# A placeholder in a body for a value that is unique to each request.
UNIQUE = "@unique@"
# A case with ids sends requests for this number of rows, in turn.
ROTATED_ROWS = 1_000
HOST = "bench.localhost"

XML, JSON, HTML = "application/xml", "application/json", "text/html"


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    paths: tuple[str, ...]
    # A regular expression, and how often it must match in a response.
    pattern: str
    matches: int
    method: str = "GET"
    body: str | None = None
    status: int = 200
    # True if the case is also measured for scaling: its response is the same for data sets of other sizes.
    scales: bool = True

    def headers(self, token: str) -> dict[str, str]:
        """Return the headers of a request. For a page, `token` is the secret of a session."""
        if self.kind == HTML:
            return {"Host": HOST, "Cookie": f"session={token}", "Content-Type": self.kind, "Accept": self.kind}
        basic = base64.b64encode(f"{LOGIN}:{PASSWORD}".encode()).decode()
        credentials = f"Basic {basic}" if self.kind == XML else f"Bearer {token}"
        return {"Host": HOST, "Authorization": credentials, "Content-Type": self.kind, "Accept": "*/*"}

    def find_error(self, status: int, body: bytes) -> str | None:
        """Return the error in a response, or None."""
        if status != self.status:
            return f"the status is {status} and not {self.status}: {body[:300]!r}"
        if (matches := len(re.findall(self.pattern, body.decode()))) != self.matches:
            return f"{self.pattern!r} matches {matches} times and not {self.matches} times: {body[:300]!r}"
        return None


def of(data_set: dict) -> list[Case]:
    """Return the cases for a data set (`bench.data`)."""
    generator = random.Random(2)  # noqa: S311, every run requests the same rows

    def sample_ids(first: int, last: int) -> list[int]:
        return generator.sample(range(first, last + 1), min(ROTATED_ROWS, last - first + 1))

    clients = sample_ids(data_set["first_client"], data_set["last_client"])
    commented = sample_ids(data_set["first_commented"], data_set["last_post"])
    # `bench.rows` gives the client with the number n the external id 100000 + n.
    shop_ids = [
        100_000 + id - data_set["first_client"] + 1
        for id in sample_ids(data_set["first_client"], data_set["last_client"])
    ]
    pages = min(data_set["posts"], data_set["clients"]) // 25
    # Each post of a list and each client has one match.
    post_pattern, client_pattern = "<post>", r'"additional_fields":'
    posts_on_page = min(25, data_set["posts"])
    cases = [
        Case("posts, page 1", XML, ("/",), post_pattern, posts_on_page),
        *(
            Case(f"posts, page {number:,}", XML, (f"/?page={number}",), post_pattern, 25, scales=number == 100)
            for number in (100, 10_000)
            if number <= pages
        ),
        Case(
            "post, 20 comments",
            XML,
            tuple(f"/app/posts/{id}.xml" for id in commented),
            "<comment>\n",
            rows.COMMENTS_PER_POST,
        ),
        Case("me.xml", XML, ("/app/users/me.xml",), f"<login>{LOGIN}</login>", 1),
        Case("client by id", JSON, tuple(f"/app/clients/{id}.json" for id in clients), client_pattern, 1),
        Case("list of clients", JSON, ("/app/clients.json",), client_pattern, min(25, data_set["clients"])),
        Case(
            "client by ext. id",
            JSON,
            tuple(f"/app/clients.json?external_ids%5Bshop%5D={value}" for value in shop_ids),
            client_pattern,
            1,
        ),
        *(
            # The pattern: a list with at least one object.
            Case(name, JSON, tuple(f"/app/clients.json?q={quote(text)}" for text in texts), r"^\[\{", 1)
            for name, texts in searches(data_set).items()
        ),
        Case(
            "create a post",
            XML,
            ("/app/posts.xml",),
            "<votes-cache",
            1,
            method="POST",
            body=f"<post><title>Post {UNIQUE}</title><content>Created by the benchmark.</content></post>",
            status=201,
        ),
        Case(
            "create a client",
            JSON,
            ("/app/clients.json",),
            client_pattern,
            1,
            method="POST",
            body='{"client": {"name": "Client U", "email": "U@bench.example", "phone": "+48 600 100 200", "city": "Gdynia",'
            ' "external_ids": {"shop": "U"}}}'.replace("U", UNIQUE),
            status=201,
        ),
        Case(
            "update a client",
            JSON,
            tuple(f"/app/clients/{id}.json" for id in clients),
            client_pattern,
            1,
            method="PUT",
            body=f'{{"client": {{"note": "Changed {UNIQUE}", "street_no": "7"}}}}',
        ),
    ]
    if len({case.name for case in cases}) != len(cases):
        raise AssertionError("two cases have the same name")
    return cases


def searches(data_set: dict) -> dict[str, list[str]]:
    """Return search texts for existing clients, by case.

    A search stops at the first stage that finds enough rows. A text with few exact matches also runs the slower stages, which look for
    parts of words and similar words.
    """
    many, few = [], []
    for step in range(1, 6):
        n = data_set["clients"] * step // 6 + 1
        first = rows.pick_word(rows.FIRST_NAMES, rows.FIRST_NAME_SEED, n)
        last = rows.pick_word(rows.SURNAME_STARTS, rows.SURNAME_START_SEED, n)
        last += rows.pick_word(rows.SURNAME_ENDS, rows.SURNAME_END_SEED, n)
        town = rows.pick_word(rows.CITIES, rows.CITY_SEED, n)
        many += [last, last[:5], town, str(100_000 + n)]
        # The last text has two letters swapped.
        few += [f"{first} {last} {n}", f"{first} {last} {town}", last[:2] + last[3] + last[2] + last[4:]]
    return {"search, many found": many, "search, few found": few}
