"""The home page: the whole forum, its canonical address, and what clients and robots get at `/`."""

from defusedxml.ElementTree import fromstring

from forum.forums.models import Forum
from tests.support.client import Client
from tests.support.factories import PASSWORD, make_category, make_forum, make_post
from tests.support.reading import titles
from tests.support.tables import table

ROBOTS = [
    "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
    "Twitterbot/1.0",
    "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
    "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com",
    "WhatsApp/2.23.20.0",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
]


def test_it_works(acme):
    """The list has the posts of all categories of the forum, and none of other forums."""
    ideas = make_category(acme.account, "Ideas")
    make_post(acme.alice, "In general")
    wanted = make_post(acme.alice, "In ideas", category_id=ideas.id)
    make_post(acme.alice, "Elsewhere", forum_id=make_forum(acme.account).id)
    make_post(acme.alice, "Newest")
    for user in (acme.bob, acme.carol):
        wanted.vote(by=user)
    for path in ("/", "/app/suggestions"):
        page = acme.page().get(path)
        assert titles(page) == ["In ideas", "Newest", "In general"]
        assert page.html.find("link", rel="canonical")["href"] == f"http://{acme.host}/app/suggestions"
    properties = {tag["property"]: tag["content"] for tag in page.html.select("meta[property]")}
    assert properties == {
        "og:type": "website",
        "og:site_name": "Acme",
        "og:url": f"http://{acme.host}/app/suggestions",
        "og:title": "Suggestions",
        "og:description": "Suggestions for Acme: read them, vote, and add your own.",
    }


def test_the_canonical_address_is_a_page_whatever_accept_says(acme):
    for accept in (None, "*/*", "application/xml", "application/json", "image/png"):
        response = Client(acme.host).get("/app/suggestions", headers={"Accept": accept} if accept else {})
        assert response.status_code == 200
        assert response.headers["Content-Type"] == "text/html; charset=utf-8"


@table(
    "path",
    [
        "/General",
        "/app/suggestions",
        "/app/roadmap",
        "/app/feed.atom",
        "/app/posts/new",
        "/app/posts/{id}-dark-theme",
        "/login",
    ],
)
def test_a_slash_at_the_end_makes_no_difference(acme, path):
    path = path.format(id=make_post(acme.alice, "Dark theme").id)
    headers = {"Accept": "text/html"}
    expected, response = (Client(acme.host).get(address, headers=headers) for address in (path, f"{path}/"))
    assert expected.status_code in (200, 303)
    assert (response.status_code, response.headers.get("Location")) == (
        expected.status_code,
        expected.headers.get("Location"),
    )
    if "csrf" not in expected.text.lower():
        assert response.text == expected.text
    assert Client(acme.host).get(f"{path}//", headers=headers).status_code == 404


def test_robots_get_pages(acme):
    """Paths with the suffix of a format, and requests with credentials, are for APIs. So are requests of other clients."""
    make_post(acme.alice)
    client = Client(acme.host)
    for robot in ROBOTS:
        response = client.get("/", headers={"User-Agent": robot})
        assert (response.status_code, response.headers["Content-Type"]) == (200, "text/html; charset=utf-8"), robot
    response = client.get("/General", headers={"User-Agent": robot, "Accept": "*/*"})
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    answers = [client.get("/app/posts.xml", headers={"User-Agent": robot})]
    answers.append(client.post("/", headers={"User-Agent": robot}))
    agents = ("", "curl/8.0", "ActiveResource", "python-requests/2.31", "Googleboat")
    answers += [client.get("/", headers={"User-Agent": agent}) for agent in agents]
    for answer in answers:
        assert (answer.status_code, answer.headers["Content-Type"]) == (401, "application/xml; charset=utf-8")
    response = Client(acme.host, auth=("alice", PASSWORD)).get("/", headers={"User-Agent": robot})
    assert fromstring(response.content).tag == "posts"
    Forum.objects.update(access=Forum.Access.PRIVATE)
    assert client.get("/", headers={"User-Agent": robot}).status_code == 303
