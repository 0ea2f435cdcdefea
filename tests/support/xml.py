"""Expected documents of the Forum API, and requests that no client library would send."""

import base64
import io
from dataclasses import dataclass
from wsgiref.util import setup_testing_defaults

from forum.posts.models import Post
from tests.support.client import XMLClient, application
from tests.support.factories import make_user

CONTENT_TYPE = "application/xml; charset=utf-8"
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

# Error messages that name no field.
UNREADABLE = "The request can't be read"
UNAUTHENTICATED = "No valid credentials were given"
FORBIDDEN = "You may not do this"
NOT_FOUND = "There is no such thing here"
NOT_ALLOWED = "This method can't be used here"
TOO_LARGE = "The body is too large (maximum is 1 MiB)"
UNSUPPORTED = "The Content-Type of the body is not supported here"
TOO_MANY = "Too many requests"
UNAVAILABLE = "The service is not available at the moment; try again"
NO_FORUM = "No forum lives at this address"


def shown(response) -> tuple[int, str, str]:
    """Return the status, the content type and the body of a response, for comparison."""
    return response.status_code, response.headers["Content-Type"], response.text


def document(status: int, *lines: str) -> tuple[int, str, str]:
    """Return the response with this XML document, as `shown` returns it."""
    return status, CONTENT_TYPE, DECLARATION + "".join(lines)


def refusal(status: int, *sentences: str) -> tuple[int, str, str]:
    """Return an error response: one `error` element for each message, and no `type` on `errors`."""
    return document(status, "<errors>\n", *(f"  <error>{sentence}</error>\n" for sentence in sentences), "</errors>\n")


def stamp(moment) -> str:
    """Return a time as XML in an account in UTC."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S+00:00")


def item(post: Post) -> str:
    """Return a post as an element of a list. Its texts must not need escaping."""
    return f"""\
  <post>
    <agent>{post.agent}</agent>
    <comments-cache type="integer">{post.comments_cache}</comments-cache>
    <content>{post.content}</content>
    <created-at type="datetime">{stamp(post.created_at)}</created-at>
    <id type="integer">{post.id}</id>
    <title>{post.title}</title>
    <updated-at type="datetime">{stamp(post.updated_at)}</updated-at>
    <votes-cache type="integer">{post.votes_cache}</votes-cache>
  </post>
"""


def posts(*listed: Post) -> tuple[int, str, str]:
    """Return the response that lists these posts."""
    if not listed:
        return document(200, '<posts type="array"/>\n')
    return document(200, '<posts type="array">\n', *map(item, listed), "</posts>\n")


def single(post: Post) -> str:
    """Return a post as a document of its own. Its texts must not need escaping."""
    if post.responsible_id is None:
        responsible = '<responsible-id type="integer" nil="true"/>'
    else:
        responsible = f'<responsible-id type="integer">{post.responsible_id}</responsible-id>'
    return f"""\
<post>
  <agent>{post.agent}</agent>
  <category-id type="integer">{post.category_id}</category-id>
  <comments-cache type="integer">{post.comments_cache}</comments-cache>
  <content>{post.content}</content>
  <created-at type="datetime">{stamp(post.created_at)}</created-at>
  <id type="integer">{post.id}</id>
  <kind>{post.kind}</kind>
  {responsible}
  <status>{post.account.statuses.get(id=post.status_id).code}</status>
  <title>{post.title}</title>
  <updated-at type="datetime">{stamp(post.updated_at)}</updated-at>
  <votes-cache type="integer">{post.votes_cache}</votes-cache>
</post>
"""


def client_of(cast, role: str) -> XMLClient:
    """Return a client of the Forum API as a user with the role; owner, agent and member are those of the cast."""
    if role == "anonymous":
        return XMLClient(cast.host)
    if role == "admin":
        return cast.xml(make_user(cast.account, "dave", role=role))
    return cast.xml({"owner": cast.alice, "agent": cast.bob, "member": cast.carol}[role])


def titles(response) -> list[str]:
    """Return the titles of a list, in order."""
    assert response.status_code == 200, response.text
    lines = (line.strip() for line in response.text.splitlines())
    return [line.removeprefix("<title>").removesuffix("</title>") for line in lines if line.startswith("<title>")]


@dataclass
class Response:
    status_code: int
    headers: dict[str, str]
    text: str


def call(
    host: str,
    path: bytes = b"/app/users/me.xml",
    *,
    method: str = "GET",
    query: str = "",
    body: bytes = b"",
    user: tuple[str, str] | None = None,
    **environ: str,
) -> Response:
    """Send a WSGI request with values that a client library would not send. `path` is already decoded."""
    wsgi_environ = {
        "HTTP_HOST": host,
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path.decode("latin-1"),
        "QUERY_STRING": query,
        "wsgi.input": io.BytesIO(body),
        "REMOTE_ADDR": "127.0.0.1",
    }
    if body:
        wsgi_environ |= {"CONTENT_LENGTH": str(len(body)), "CONTENT_TYPE": "application/xml"}
    if user:
        wsgi_environ["HTTP_AUTHORIZATION"] = basic(*user)
    wsgi_environ |= environ
    setup_testing_defaults(wsgi_environ)
    start_calls = []
    response = application(wsgi_environ, lambda status, headers, exc_info=None: start_calls.append((status, headers)))
    content = b"".join(response)
    [(status, headers)] = start_calls
    return Response(int(status[:3]), dict(headers), content.decode())


def basic(login: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{login}:{password}".encode()).decode()
