"""HTTP clients that call the whole WSGI application without a network."""

import httpx

from config.wsgi import application


def wsgi_application(environ, start_response):
    """Call the application with the path as Latin-1, as PEP 3333 demands; httpx decodes it as UTF-8."""
    environ["PATH_INFO"] = environ["PATH_INFO"].encode().decode("latin-1")
    return application(environ, start_response)


class Client(httpx.Client):
    def __init__(self, host: str, **kwargs):
        transport = httpx.WSGITransport(app=wsgi_application, raise_app_exceptions=True)
        super().__init__(base_url=f"http://{host}", transport=transport, **kwargs)
        for header in ("Accept", "Accept-Encoding", "Connection"):
            del self.headers[header]
        self.headers["User-Agent"] = "tests/1.0"


class XMLClient(Client):
    """A client of the Forum API, with a login and a password, at a forum's host."""

    def send_xml(self, method: str, path: str, body: str | bytes, **kwargs) -> httpx.Response:
        content = body.encode() if isinstance(body, str) else body
        return self.request(method, path, content=content, headers={"Content-Type": "application/xml"}, **kwargs)


class JSONClient(Client):
    """A client of the Account API. It sends its token in the Authorization header."""

    def __init__(self, host: str, token: str | None = None, **kwargs):
        super().__init__(host, headers={"Authorization": f"Bearer {token}"} if token else {}, **kwargs)
        self.token = token
