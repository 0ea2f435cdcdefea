"""The benchmark cases: their requests, and the expected responses."""

import base64
import random
import re
from dataclasses import dataclass
from urllib.parse import quote

from bench.data import (
    CITY,
    COMMENTS_PER_POST,
    FIRST_NAME,
    LOGIN,
    PASSWORD,
    SURNAME_END,
    SURNAME_START,
    WORDS,
    pick_word,
)
from forum.texts.slugs import slug_of

# A placeholder in a body for a value that is unique to each request.
UNIQUE = "@unique@"
# A case with ids sends requests for this number of rows, in turn.
ROTATED_ROWS = 200
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


def requests_of_apis(data_set: dict) -> list[Case]:
    """Return the cases of the APIs for a data set (`bench.data`)."""
    generator = random.Random(2)  # noqa: S311, every run requests the same rows

    def sample_ids(first: int, last: int) -> list[int]:
        return generator.sample(range(first, last + 1), min(ROTATED_ROWS, last - first + 1))

    clients = sample_ids(data_set["first_client"], data_set["last_client"])
    commented = sample_ids(data_set["first_commented"], data_set["last_post"])
    # The client with the number n has the external id 100000 + n.
    numbers = [
        id - data_set["first_client"] + 1 for id in sample_ids(data_set["first_client"], data_set["last_client"])
    ]
    pages = min(data_set["posts"], data_set["clients"]) // 25
    # Each post of a list and each client has one match.
    post_pattern, client_pattern = "<post>", r'"additional_fields":'
    posts_on_page = min(25, data_set["posts"])
    page_numbers = [number for number in (100, 10_000) if number <= pages]
    post = f"<post><title>Post {UNIQUE}</title><content>Created by the benchmark.</content></post>"
    new_client = """{"client": {"name": "Client U", "email": "U@bench.example", "phone": "+48 600 100 200", "city": "Gdynia",
        "external_ids": {"shop": "U"}}}""".replace("U", UNIQUE)
    changes = f'{{"client": {{"note": "Changed {UNIQUE}", "street_no": "7"}}}}'
    paths_of_clients = tuple(f"/app/clients/{id}.json" for id in clients)
    by_external_id = tuple(f"/app/clients.json?external_ids%5Bshop%5D={100_000 + n}" for n in numbers)
    # fmt: off
    return [
        Case("posts, page 1", XML, ("/",), post_pattern, posts_on_page),
        *(Case(f"posts, page {number:,}", XML, (f"/?page={number}",), post_pattern, 25, scales=number == 100) for number in page_numbers),
        Case("post, 20 comments", XML, tuple(f"/app/posts/{id}.xml" for id in commented), "<comment>\n", COMMENTS_PER_POST),
        Case("me.xml", XML, ("/app/users/me.xml",), f"<login>{LOGIN}</login>", 1),
        Case("client by id", JSON, paths_of_clients, client_pattern, 1),
        Case("list of clients", JSON, ("/app/clients.json",), client_pattern, min(25, data_set["clients"])),
        Case("client by ext. id", JSON, by_external_id, client_pattern, 1),
        # The pattern: a list with at least one object.
        *(Case(name, JSON, tuple(f"/app/clients.json?q={quote(text)}" for text in texts), r"^\[\{", 1)
          for name, texts in searches(data_set).items()),
        Case("create a post", XML, ("/app/posts.xml",), "<votes-cache", 1, method="POST", body=post, status=201),
        Case("create a client", JSON, ("/app/clients.json",), client_pattern, 1, method="POST", body=new_client, status=201),
        Case("update a client", JSON, paths_of_clients, client_pattern, 1, method="PUT", body=changes),
    ]
    # fmt: on


def pages(data_set: dict) -> list[Case]:
    """Return the pages of the team for a data set."""
    generator = random.Random(3)  # noqa: S311, every run requests the same rows

    def sample_paths(path: str, kind: str, *, first: str = "") -> tuple[str, ...]:
        ids = range(data_set[first or f"first_{kind}"], data_set[f"last_{kind}"] + 1)
        return tuple(path.format(id) for id in generator.sample(ids, min(20, len(ids))))

    def with_title(path: str) -> str:
        n = int(path.rpartition("/")[2]) - data_set["first_post"] + 1
        # The title of the SQL in `data.POST`.
        return f"{path}-{slug_of(pick_word('verbs', 9176, n) + ' ' + pick_word('things', 6151, n))}"

    found = {name: tuple(f"/app/find?q={quote(text)}" for text in texts) for name, texts in searches(data_set).items()}
    paths: dict[str, tuple[str, ...]] = {
        "forum home": ("/",),
        "forum, two statuses": ("/app/suggestions?status=new%2Cplanned&order=top",),
        "suggestion, 20 comments": tuple(
            map(with_title, sample_paths("/app/posts/{}", "post", first="first_commented"))
        ),
        "clients": ("/app/clients",),
        "clients, page 400": ("/app/clients?page=400",),
        "clients by a text": (f"/app/clients?city={quote(WORDS['cities'][0])}&sort=name",),
        "clients by a sum": ("/app/clients?open_sum__after=45000&sort=-open_sum",),
        "clients by a choice": (f"/app/clients?additional_fields%5Bindustry%5D={WORDS['industries'][7]}&sort=name",),
        "clients without activity": ("/app/clients?inactive_days=90&sort=last_activity_at",),
        "clients, search": (f"/app/clients?q={quote(WORDS['cities'][3])}",),
        "contacts": ("/app/contacts?sort=name",),
        "deals": ("/app/deals?sort=-last_activity_at",),
        "deals by amount": ("/app/deals?sort=-price",),
        "deals, or": ("/app/deals?or1.price__after=40000&or1.outcome=open&or2.currency=GBP&sort=-price",),
        "deals by a client": (f"/app/deals?client.city={quote(WORDS['cities'][0])}&sort=-created_at",),
        "deals of a period": ("/app/deals?outcome=open&expected_close_date=next_30_days&sort=expected_close_date",),
        "clients by open deals": (
            f"/app/clients?open_deals.price__after=48000&city__any={quote(WORDS['cities'][0])}&city__any=Opole",
        ),
        "deals, sums": ("/app/deals?sums=1",),
        "suggestions, table": ("/app/suggestions/list?closed=false&sort=-updated_at",),
        "client": sample_paths("/app/clients/{}", "client"),
        "client, long timeline": (f"/app/clients/{data_set['first_client']}",),
        "deal": sample_paths("/app/deals/{}", "deal"),
        "board": ("/app/deals/board",),
        "board, own deals": ("/app/deals/board?mine=true",),
        "board, by a currency": ("/app/deals/board?currency=GBP",),
        "tasks": ("/app/tasks",),
        "home": ("/app/home",),
        "inbox": ("/app/inbox",),
        "inbox with a suggestion": sample_paths("/app/inbox?post={}", "post", first="first_commented"),
        "form of an answer": sample_paths("/app/posts/{}/answer", "post", first="first_commented"),
        "form of a new deal": ("/app/deals/new",),
        "form of a whole client": sample_paths("/app/clients/{}/edit/all", "client"),
        "duplicates": ("/app/clients/duplicates",),
        "report of results": ("/app/reports/results",),
        "report of activities": ("/app/reports/activities",),
        **{name.replace("search", "find"): texts for name, texts in found.items()},
    }
    return [Case(name, HTML, path, "<main", 1) for name, path in paths.items()]


def searches(data_set: dict) -> dict[str, list[str]]:
    """Return search texts for existing clients, by case.

    A search stops at the first stage that finds enough rows. A text with few exact matches also runs the slower stages, which look for
    parts of words and similar words.
    """
    many, few = [], []
    for step in range(1, 6):
        n = data_set["clients"] * step // 6 + 1
        first, town = pick_word("first_names", FIRST_NAME, n), pick_word("cities", CITY, n)
        last = pick_word("surname_starts", SURNAME_START, n) + pick_word("surname_ends", SURNAME_END, n)
        many += [last, last[:5], town, str(100_000 + n)]
        # The last text has two letters swapped.
        few += [f"{first} {last} {n}", f"{first} {last} {town}", last[:2] + last[3] + last[2] + last[4:]]
    return {"search, many found": many, "search, few found": few}
