"""A browser without JavaScript: it follows links, submits forms and keeps cookies."""

from webtest import TestApp

from accounts.cookies import SESSION_COOKIE
from accounts.host_names import is_domain, normalize
from accounts.models import Session, User
from config.wsgi import application
from tests.support.factories import PASSWORD


class Visitor(TestApp):
    """A browser session at a host of the service. `sign_in` submits the sign-in form, which takes two requests."""

    def __init__(self, host: str, **environ: str):
        headers = {"HTTP_HOST": host, "HTTP_ACCEPT": "text/html,*/*;q=0.8", "HTTP_ACCEPT_LANGUAGE": "en"}
        super().__init__(application, extra_environ=headers | environ)

    def start_session(self, user: User) -> "Visitor":
        """Sign the user in without a request."""
        name = normalize(self.extra_environ["HTTP_HOST"]) or ""
        _row, secret = Session.objects.start(user, domain=name if is_domain(name) else "")
        self.set_cookie(SESSION_COOKIE, secret)
        return self

    def sign_in(self, login: str, password: str = PASSWORD) -> "Visitor":
        form = self.get("/app/sign-in").forms["sign-in"]
        form["login"], form["password"] = login, password
        assert form.submit().status_code == 303
        return self
