"""A browser without JavaScript: it follows links, submits forms and keeps cookies."""

from webtest import TestApp

from config.wsgi import application
from tests.support.factories import PASSWORD


class Visitor(TestApp):
    """A browser session at a host of the service. `sign_in` submits the sign-in form."""

    def __init__(self, host: str, **environ: str):
        headers = {"HTTP_HOST": host, "HTTP_ACCEPT": "text/html,*/*;q=0.8", "HTTP_ACCEPT_LANGUAGE": "en"}
        super().__init__(application, extra_environ=headers | environ)

    def sign_in(self, login: str, password: str = PASSWORD) -> "Visitor":
        form = self.get("/app/sign-in").forms["sign-in"]
        form["login"], form["password"] = login, password
        assert form.submit().status_code == 303
        return self
