"""A browser without JavaScript: it follows links, submits forms and keeps cookies."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from http import HTTPStatus
from urllib.parse import urlsplit

from bs4 import Tag
from webtest import Form, TestApp, TestRequest, TestResponse

from accounts.hosts.names import is_domain, normalize
from accounts.sessions.cookies import SESSION_COOKIE
from accounts.sessions.models import Session
from accounts.users.models import User
from config.wsgi import application
from forum.posts.models import Post
from forum.texts.slugs import post_path
from tests.support.factories import PASSWORD


def path_of_post(post: Post) -> str:
    return post_path(post.id, post.title)


class PageForm(Form):
    """A form whose fields are read from the parsed page. WebTest would parse each form once more."""

    def __init__(self, response: TestResponse, element: Tag):
        self.response, self.html = response, element
        self.action = element.get("action", "")
        self.method = element.get("method", "GET")
        self.id = element.get("id")
        self.enctype = element.get("enctype", "application/x-www-form-urlencoded")
        self._parse_fields()

    @cached_property
    def text(self) -> str:
        return str(self.html)


class PageForms(Mapping[int | str, Form]):
    """The forms of a page by number and by id. A form is read when a test asks for it: a page has dozens of them."""

    def __init__(self, response: TestResponse):
        self.response = response
        self.elements: dict[int | str, Tag] = {}
        for number, element in enumerate(response.html("form")):
            self.elements[number] = element
            if form_id := element.get("id"):
                self.elements[form_id] = element
        self.read: dict[int, Form] = {}

    def __getitem__(self, key: int | str) -> Form:
        element = self.elements[key]
        if id(element) not in self.read:
            self.read[id(element)] = PageForm(self.response, element)
        return self.read[id(element)]

    def __iter__(self) -> Iterator[int | str]:
        return iter(self.elements)

    def __len__(self) -> int:
        return len(self.elements)


class PageResponse(TestResponse):
    @cached_property
    def forms(self) -> PageForms:
        return PageForms(self)


class PageRequest(TestRequest):
    ResponseClass = PageResponse


class Visitor(TestApp):
    """A browser session at a host of the service. `sign_in` submits the sign-in form, which takes two requests."""

    RequestClass = PageRequest

    def __init__(self, host: str, **environ: str):
        headers = {"HTTP_HOST": host, "HTTP_ACCEPT": "text/html,*/*;q=0.8", "HTTP_ACCEPT_LANGUAGE": "en"}
        super().__init__(application, extra_environ=headers | environ)

    def do_request(self, req: TestRequest, status: object = None, expect_errors: bool | None = None) -> TestResponse:
        """Follow the redirect from the id of a suggestion to its whole address, unless the test expects it."""
        response = super().do_request(req, "*", True)
        if response.status_code == HTTPStatus.MOVED_PERMANENTLY != status and "/app/posts/" in response.location:
            target = urlsplit(response.location)
            again = req.copy_get()
            again.path_info, again.query_string = target.path, target.query
            return self.do_request(again, status, expect_errors)
        if not expect_errors:
            self._check_status(status, response)
            self._check_errors(response)
        return response

    def start_session(self, user: User) -> "Visitor":
        """Sign the user in without a request."""
        name = normalize(self.extra_environ["HTTP_HOST"]) or ""
        _row, secret = Session.objects.start(user, domain=name if is_domain(name) else "")
        self.set_cookie(SESSION_COOKIE, secret)
        return self

    def copy(self) -> "Visitor":
        """Return another browser with the same cookies. `set_cookie` would quote a value of `cookies` once more."""
        other = Visitor(self.extra_environ["HTTP_HOST"])
        for cookie in self.cookiejar:
            other.cookiejar.set_cookie(cookie)
        return other

    def sign_in(self, login: str, password: str = PASSWORD) -> "Visitor":
        form = self.get("/app/sign-in?password=1").forms["sign-in"]
        form["login"], form["password"] = login, password
        assert form.submit().status_code == 303
        return self
