"""The base view of the pages."""

from accounts.statuses.models import Status
from core.pages import base
from tests.support.factories import make_post
from tests.support.pages import Visitor


def test_the_context_may_contain_a_variable_named_status(rf, monkeypatch):
    """The argument `status` is a variable of the template. `http_status` sets the status of the response."""
    calls = []
    monkeypatch.setattr(base, "render", lambda request, template, context, *, status: calls.append((context, status)))
    page, planned = base.Page(), Status(name="Planned")
    page.setup(rf.get("/"))
    page.render("forum/lists/roadmap.html", status=planned, http_status=422)
    assert calls == [({"indexed": False, "is_of_forum": False, "status": planned}, 422)]


def test_a_page_after_one_in_another_language(acme):
    """A macro that another template imports is translated for each page, and not once for the process."""
    make_post(acme.carol, "Dark mode")
    titles = {}
    for language in ("pl", "en"):
        page = Visitor(acme.host, HTTP_ACCEPT_LANGUAGE=language).get("/")
        titles[language] = page.html.select_one(".vote button")["title"]
    assert titles == {"pl": "Zagłosuj", "en": "Vote for this"}
