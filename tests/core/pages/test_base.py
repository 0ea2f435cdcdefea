"""The base view of the pages."""

from accounts.statuses.models import Status
from core.pages import base


def test_the_context_may_contain_a_variable_named_status(rf, monkeypatch):
    """The argument `status` is a variable of the template. `http_status` sets the status of the response."""
    calls = []
    monkeypatch.setattr(base, "render", lambda request, template, context, *, status: calls.append((context, status)))
    page, planned = base.Page(), Status(name="Planned")
    page.setup(rf.get("/"))
    page.render("forum/lists/roadmap.html", status=planned, http_status=422)
    assert calls == [({"indexed": False, "is_of_forum": False, "status": planned}, 422)]
