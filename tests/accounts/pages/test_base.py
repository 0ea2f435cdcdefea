"""What every page is made of."""

from accounts.models import Status
from core.pages import base


def test_a_template_may_be_told_of_a_status(rf, monkeypatch):
    """Which is a thing of the forum, and not that of the answer."""
    calls = []
    monkeypatch.setattr(base, "render", lambda request, template, context, *, status: calls.append((context, status)))
    page, planned = base.Page(), Status(name="Planned")
    page.setup(rf.get("/"))
    page.render("forum/roadmap.html", status=planned, http_status=422)
    assert calls == [({"indexed": False, "status": planned}, 422)]
