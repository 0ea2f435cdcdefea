"""The trash on the pages."""

from datetime import timedelta

from django.utils import timezone

from tests.support.factories import make_client, make_contact, make_contact_list, make_deal, make_post, make_task
from tests.support.settings import button_of, send, texts

PATH = "/app/account/trash"
MAKE = {
    "client": make_client,
    "contact": make_contact,
    "contact_list": make_contact_list,
    "deal": make_deal,
    "post": make_post,
    "task": make_task,
}


def test_it_works(acme):
    for kind, make in MAKE.items():
        make(acme.alice, f"My {kind}").trash(by=acme.bob)
    page = acme.page(acme.alice)
    response = page.get(PATH)
    assert texts(response, ".list strong") == [f"My {kind}" for kind in reversed(MAKE)]
    erasure_date = (timezone.now() + timedelta(days=30)).strftime("%-d, %Y")
    first = texts(response, ".list li .meta")[0]
    assert "deleted by Bob Nowak just now" in first
    assert first.endswith(erasure_date)
    assert texts(page.get(f"{PATH}?kind=deal"), ".list strong") == ["My deal"]

    deal = acme.account.deals.get()
    response = button_of(response, "restore", id=deal.id).submit("do").follow()
    assert "My deal is restored." in response
    assert "My deal" not in texts(response, ".list strong")
    assert "Nothing of this kind is in the trash." in page.get(f"{PATH}?kind=deal")
    assert acme.account.deals.live().exists()


def test_it_rejects_unknown_rows_and_pages(acme, other):
    page = acme.page(acme.alice)
    page.get(f"{PATH}?kind=user", status=404)
    page.get(f"{PATH}?page=0", status=404)
    for values in ({"kind": "user", "id": "1"}, {"kind": "client", "id": "x"}, {"kind": "client"}):
        send(page, PATH, status=404, do="restore", **values)
    other_client = make_client(other.mallory)
    other_client.trash(by=other.mallory)
    response = send(page, PATH, do="restore", kind="client", id=other_client.id).follow()
    assert "It is no longer in the trash." in response
    assert not other.account.clients.live().exists()
    assert "The trash is empty." in response


def test_it_rejects_a_list_whose_name_was_taken(acme):
    make_contact_list(acme.alice, "News").trash(by=acme.alice)
    make_contact_list(acme.alice, "News")
    response = button_of(acme.page(acme.alice).get(PATH), "restore").submit("do").follow()
    [message] = texts(response, ".notice.error")
    assert message.startswith("It can't be restored yet, as another one has its name now.")


def test_the_user_returns_to_the_same_list(acme):
    make_client(acme.alice).trash(by=acme.alice)
    page = acme.page(acme.alice)
    form = button_of(page.get(f"{PATH}?kind=client"), "restore")
    assert form.submit("do").headers["Location"] == f"{PATH}?kind=client"
    response = send(page, PATH, do="restore", kind="client", id=1, next="//evil.example/")
    assert response.headers["Location"] == PATH
