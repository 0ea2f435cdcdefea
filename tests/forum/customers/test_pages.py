"""Votes and suggestions on behalf of clients and contacts."""

from tests.support.factories import make_category, make_client, make_contact, make_post
from tests.support.pages import path_of_post
from tests.support.settings import button_of, send, texts
from tests.support.team import HTMX, fresh, went_to

NEW = "/app/posts/behalf"
CHOOSE_VOTER = "Choose the client or contact whose vote it is."


def path_of(post) -> str:
    return f"/app/posts/{post.id}/behalf"


def cast(page, post, customer: str):
    return send(page, path_of(post), do="cast", customer=customer)


def test_it_works(acme):
    client = make_client(acme.alice, "Northwind Traders", email="buy@northwind.example")
    contact = make_contact(acme.alice, "Nora North", email="nora@northwind.example")
    post = make_post(acme.carol)
    bob = acme.page(acme.bob)
    page = bob.get(path_of(post))
    # The account has no clients or contacts yet.
    assert "Add their vote" not in page
    form = button_of(page, "find")
    form["q"] = "north"
    results = form.submit("do", value="find")
    assert texts(results, "#vote-found label") == [
        "Northwind Traders buy@northwind.example, client",
        "Nora North nora@northwind.example, contact",
    ]
    for customer in (f"client-{client.id}", f"contact-{contact.id}"):
        form = button_of(results, "cast")
        form["customer"] = customer
        response = form.submit("do", value="cast")
        assert response.status_code == 303
    page = response.follow()
    assert texts(page, ".list strong") == ["Northwind Traders", "Nora North"]
    assert all("by Bob Nowak" in text for text in texts(page, ".list .meta"))
    assert fresh(post).votes_cache == 2
    # Send the form again: a second click, another tab.
    assert cast(bob, post, f"client-{client.id}").status_code == 303
    assert fresh(post).votes_cache == 2
    bob.get("/")

    form = button_of(page, "withdraw", customer=f"client-{client.id}")
    assert went_to(form.submit("do"), path_of(post)) == ["The vote is withdrawn."]
    form.submit("do")
    assert fresh(post).votes_cache == 1


def test_search_while_typing(acme, other):
    make_client(acme.alice, "Northwind Traders")
    make_client(acme.alice, "Northern Gone").trash(by=acme.alice)
    make_client(other.mallory, "North of others")
    post = make_post(acme.carol)
    bob = acme.page(acme.bob)
    for path in (path_of(post), NEW):
        response = bob.get(path, {"q": "north"}, headers=HTMX)
        assert texts(response, "label") == ["Northwind Traders client"]
        assert "Nobody was found." in bob.get(path, {"q": "qqqq"}, headers=HTMX)
        for q in ("\u0001", "'", "%", " ", "9" * 300):
            assert texts(bob.get(path, {"q": q}, headers=HTMX), "label") == []


def test_it_rejects_unknown_and_trashed_customers(acme):
    trashed = make_client(acme.alice)
    trashed.trash(by=acme.alice)
    post = make_post(acme.carol)
    bob = acme.page(acme.bob)
    for customer in (f"client-{trashed.id}", "client-9000001", "user-1", "client-", "", f"contact-{10**17}"):
        assert went_to(cast(bob, post, customer), path_of(post)) == [CHOOSE_VOTER]
        send(bob, path_of(post), do="withdraw", customer=customer)
    assert fresh(post).votes_cache == 0


def test_it_rejects_votes_for_merged_and_deleted_posts(acme):
    client, post = make_client(acme.alice), make_post(acme.carol)
    post.merge_into(make_post(acme.carol), by=acme.bob)
    bob = acme.page(acme.bob)
    [message] = went_to(cast(bob, post, f"client-{client.id}"), path_of(post))
    assert message == "This suggestion was merged into another one. Go on there, or undo that first."
    post.trash(by=acme.alice)
    [message] = went_to(cast(bob, post, f"client-{client.id}"), "/app/suggestions")
    assert message == "This suggestion was deleted. An admin can restore it from the trash."


def fill_in(acme, page, **values):
    form = page.get(NEW).forms["behalf"]
    for name, value in {"title": "Bigger letters", **values}.items():
        form[name] = value
    return form


def test_a_new_suggestion_for_a_client(acme):
    client = make_client(acme.alice, "Northwind Traders")
    category = make_category(acme.account, "Wishes")
    bob = acme.page(acme.bob)
    form = fill_in(acme, bob, content="One\r\ntwo", category_id=str(category.id), q="north")
    results = form.submit("do", value="find")
    form = results.forms["behalf"]
    assert (form["title"].value, form["content"].value.strip()) == ("Bigger letters", "One\r\ntwo")
    assert (form["category_id"].value, form["counts"].checked) == (str(category.id), True)
    form["customer"] = f"client-{client.id}"
    response = form.submit("do", value="create")
    [post] = acme.account.posts.filter(title="Bigger letters")
    assert went_to(response, path_of_post(post)) == ["The suggestion is added."]
    assert (post.user_id, post.client_id, post.contact_id) == (acme.bob.id, client.id, None)
    assert (post.content, post.category_id, post.votes_cache, post.approved) == ("One\ntwo", category.id, 1, True)
    # A double click creates only one.
    assert went_to(form.submit("do", value="create"), path_of_post(post)) != []
    assert acme.account.posts.filter(title="Bigger letters").count() == 1


def test_a_suggestion_for_a_contact_in_the_query(acme):
    contact = make_contact(acme.alice, "Nora North")
    bob = acme.page(acme.bob)
    form = bob.get(f"{NEW}?contact={contact.id}").forms["behalf"]
    assert form["customer"].value == f"contact-{contact.id}"
    form["title"], form["counts"] = "Bigger letters", False
    form.submit("do", value="create")
    [post] = acme.account.posts.filter(title="Bigger letters")
    assert (post.contact_id, post.client_id, post.votes_cache) == (contact.id, None, 0)


def test_it_rejects_invalid_values(acme, other):
    client, trashed = make_client(acme.alice), make_client(acme.alice)
    trashed.trash(by=acme.alice)
    bob = acme.page(acme.bob)
    existing_customer = f"client-{client.id}"
    for customer, name, value, error in [
        (existing_customer, "title", " ", "Can't be blank"),
        (existing_customer, "title", "x" * 256, "at most 255"),
        (existing_customer, "title", "a\u0001b", "Has characters that can't be stored"),
        (existing_customer, "content", "x" * 65537, "at most 65536"),
        (existing_customer, "category_id", "999999", "Select a valid choice."),
        ("", "title", "Fine", "Choose the client or contact whose suggestion it is."),
        (f"client-{trashed.id}", "title", "Fine", "Choose the client or contact whose suggestion it is."),
    ]:
        values = {"title": "Kept", "category_id": acme.category.id, "customer": customer, "do": "create", name: value}
        response = send(bob, NEW, status=422, **values)
        assert error in response.html.get_text()
        form = response.forms["behalf"]
        if name != "title":
            assert form["title"].value == "Kept"
        if customer == existing_customer:
            assert form["customer"].value == existing_customer
    assert not acme.account.posts.exists()
