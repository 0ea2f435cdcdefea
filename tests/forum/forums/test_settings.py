"""The settings of forums and their categories."""

from accounts.hosts.models import Host
from forum.categories.models import Category
from forum.forums.models import Forum
from tests.support.factories import make_category, make_post
from tests.support.pages import Visitor
from tests.support.settings import (
    button_of,
    send,
    texts,
)

FORUMS, NEW, CATEGORIES = "/app/account/forums", "/app/account/forums/new", "/app/account/categories"


def submit_forum_form(acme, host="ideas", status=303, **values):
    form = acme.page(acme.alice).get(NEW).forms["forum"]
    for name, value in {"name": "Ideas", "host": host, **values}.items():
        form[name] = value
    return form.submit("do", status=status)


def make_forum(acme, host="ideas", **fields) -> Forum:
    return Forum.objects.create_for(acme.account, **{"name": "Ideas", "host": host, **fields})


def path_of(row) -> str:
    return f"{FORUMS if isinstance(row, Forum) else CATEGORIES}/{row.id}"


def errors_on(response) -> list[str]:
    return texts(response, ".field .field-error")


# Forums


def test_it_works(acme):
    response = submit_forum_form(
        acme, " https://Ideas.Example.ORG/ ", description="For all", access="members", approval=True
    )
    response = response.follow()
    assert "Ideas is open." in response
    assert texts(response, ".list strong") == ["Acme", "Ideas"]
    forum = acme.account.forums.get(name="Ideas")
    assert (forum.description, forum.access, forum.approval, forum.is_default) == ("For all", "members", True, False)
    assert acme.account.hosts.get(id=forum.host_id).name == "ideas.example.org"
    assert "There are no suggestions here yet" in Visitor("ideas.example.org").get("/")
    # Explanations of the settings.
    assert "who signs up at a public forum sees no private one" in acme.page(acme.alice).get(NEW)

    page = acme.page(acme.alice)
    forum_page = page.get(path_of(forum))
    assert texts(forum_page, "dd code")[3:] == ["CNAME", "ideas.example.org", "acme.example.test"]
    form = forum_page.forms["forum"]
    assert form["host"].value == "ideas.example.org"
    form["name"], form["host"], form["access"], form["approval"] = "Plans", "plans", "private", False
    assert "Plans is saved." in form.submit("do").follow()
    forum.refresh_from_db()
    assert (forum.name, forum.access, forum.approval) == ("Plans", "private", False)
    assert set(acme.account.hosts.values_list("name", flat=True)) == {"acme", "plans"}

    response = button_of(page.get(path_of(forum)), "delete").submit().follow()
    assert "Plans is deleted." in response
    assert list(acme.account.hosts.values_list("name", flat=True)) == ["acme"]
    assert acme.account.categories.count() == 1


INVALID_ADDRESS = "Is not an address that a forum can have"
ADDRESSES = {
    "": "Can't be blank",
    **dict.fromkeys(["a b", "x", "-ideas", "a.b.example.test", "a" * 64], INVALID_ADDRESS),
    **dict.fromkeys(["www", "API.example.test", "localhost"], "Is reserved"),
    **dict.fromkeys(["example.test", "127.0.0.1", "other", "Forum.Other.Example"], "Is not available"),
    **dict.fromkeys(["acme", "acme.example.test"], "Is the account's own, where its first forum answers"),
    "taken": "Is where another of your forums is",
}


def test_it_rejects_invalid_addresses(acme, other):
    Host.objects.create(account=other.account, name="forum.other.example")
    make_forum(acme, "taken", name="Taken")
    before = list(Host.objects.order_by("id").values())
    form = acme.page(acme.alice).get(NEW).forms["forum"]
    form["name"] = "Ideas"
    for host, error in ADDRESSES.items():
        form["host"] = host
        response = form.submit("do", status=422)
        assert errors_on(response) == [error], host
        assert response.forms["forum"]["host"].value == host
    assert list(Host.objects.order_by("id").values()) == before
    for number, host in enumerate(("ideas.example.org/x y", "żółw.example.org")):
        submit_forum_form(acme, host, name=f"Ideas {number}")


def test_it_rejects_invalid_values(acme):
    page = acme.page(acme.alice)
    response = send(page, NEW, status=422, do="save", name=" ", host="ideas", access="secret", description="a" * 1001)
    assert errors_on(response) == [
        "Can't be blank",
        "Ensure this value has at most 1000 characters (it has 1001).",
        "Select a valid choice. secret is not one of the available choices.",
    ]


def test_it_rejects_too_many_forums(acme, monkeypatch):
    monkeypatch.setattr(Forum, "MAX_PER_ACCOUNT", 1)
    assert errors_on(submit_forum_form(acme, status=422)) == ["Can't be added: an account can't have more forums"]
    assert (
        "This account has as many forums as an account can have."
        in texts(acme.page(acme.alice).get(FORUMS), "p.soft")[0]
    )


def test_it_rejects_forums_and_categories_of_another_account(acme, other):
    """tests/test_page_access.py sends the ids in paths."""
    forum = other.account.forums.create(id=10**6, name="Theirs", host_id=other.account.hosts.create(name="theirs").id)
    category = other.account.categories.create(id=10**6, name="Theirs", forum_id=forum.id)
    page = acme.page(acme.alice)
    page.get(f"{CATEGORIES}?forum={forum.id}", status=404)
    page.get(f"{CATEGORIES}?forum=x", status=404)
    send(page, f"{CATEGORIES}?forum={forum.id}", status=404, do="add", name="Mine")
    # Posts cannot be moved there either.
    make_category(acme.account, "More")
    make_post(acme.alice)
    response = send(page, path_of(acme.category), do="delete", into=category.id).follow()
    assert texts(response, ".notice.error") == ["Category has suggestions: say where they are to go"]


def test_it_rejects_deleting_the_first_forum(acme):
    page = acme.page(acme.alice)
    assert 'value="delete"' not in page.get(path_of(acme.forum))
    response = send(page, path_of(acme.forum), do="delete").follow()
    assert texts(response, ".notice.error") == ["Forum is the account's first one, which has to stay"]


def test_it_rejects_deleting_a_forum_with_posts(acme):
    forum = make_forum(acme)
    category = acme.account.categories.of_forum(forum.id).get()
    post = make_post(acme.alice, forum_id=forum.id, category_id=category.id)
    post.trash(by=acme.alice)
    page = acme.page(acme.alice)
    response = button_of(page.get(path_of(forum)), "delete").submit().follow()
    assert texts(response, ".notice.error") == ["Forum has suggestions, perhaps in the trash"]
    assert acme.account.hosts.filter(name="ideas").exists()


def test_the_first_forum_may_change_its_host(acme):
    page = acme.page(acme.alice)
    for address, names in (("ideas.example.org", {"acme", "ideas.example.org"}), ("acme", {"acme"})):
        form = page.get(path_of(acme.forum)).forms["forum"]
        form["host"] = address
        assert form.submit("do").status_code == 303
        assert set(acme.account.hosts.values_list("name", flat=True)) == names
        # The forum still answers at the account's own host.
        assert page.get(FORUMS).status_code == 200


def test_it_rejects_changing_the_host_of_the_current_page(acme):
    forum = make_forum(acme, "ideas.example.org")
    # The address under BASE_DOMAIN at which the team works on a forum with a domain. It changes with the domain.
    page = Visitor(f"acme--{forum.host_id}.example.test").sign_in("alice")
    form = page.get(path_of(forum)).forms["forum"]
    form["host"] = "ideas.example.net"
    expected = "You are at this address now. Open the settings at acme.example.test to change it."
    assert errors_on(form.submit("do", status=422)) == [expected]
    response = send(page, path_of(forum), do="delete").follow()
    assert texts(response, ".notice.error") == [expected]
    # Other settings can be changed there.
    form["host"], form["name"] = "ideas.example.org", "Better ideas"
    assert form.submit("do").status_code == 303


# Categories


def names(response) -> list[str]:
    return texts(response, ".ordered strong")


def test_categories_are_added_changed_and_deleted(acme):
    page = acme.page(acme.alice)
    form = page.get(CATEGORIES).forms["add"]
    form["name"] = " Bugs "
    response = form.submit("do").follow()
    assert names(response) == ["General", "Bugs"]
    bugs = acme.account.categories.get(name="Bugs")

    form = page.get(path_of(bugs)).forms["category"]
    form["name"] = "BUGS & more?"
    response = form.submit("do").follow()
    assert names(response) == ["General", "BUGS & more?"]
    assert acme.page().get("/bugs%20&%20more%3F").status_code == 200

    response = button_of(response, "move", id=bugs.id).submit("step", value="up").follow()
    assert names(response) == ["BUGS & more?", "General"]
    assert make_post(acme.alice).category_id == bugs.id

    # Deleting the category moves its post.
    response = page.get(path_of(bugs))
    form = response.forms["delete"]
    form["into"] = str(acme.account.categories.get(name="General").id)
    assert names(form.submit().follow()) == ["General"]
    [post] = acme.account.posts.all()
    assert post.category_id == acme.category.id


def test_it_rejects_invalid_names_of_categories(acme):
    page = acme.page(acme.alice)
    row = make_category(acme.account, "Bugs")
    for name, error in (
        (" ", "Can't be blank"),
        ("a/b", "Can't have a slash"),
        ("Feed.XML", "Can't end in .xml or .json, which is how programs ask"),
        ("App", "Is a word that the service needs for itself"),
        ("..", "Is a word that the service needs for itself"),
        ("GENERAL", "Is already taken"),
        ("a" * 256, "Ensure this value has at most 255 characters (it has 256)."),
        ("a\ufffe", "Has characters that can't be stored"),
    ):
        assert errors_on(send(page, CATEGORIES, status=422, do="add", name=name)) == [error]
        assert errors_on(send(page, path_of(row), status=422, do="save", name=name)) == [error]
    row.refresh_from_db()
    assert row.name == "Bugs"
    assert acme.account.categories.count() == 2


def test_two_forums_may_have_categories_with_the_same_name(acme):
    forum = make_forum(acme)
    page = acme.page(acme.alice)
    send(page, f"{CATEGORIES}?forum={forum.id}", do="add", name="Bugs")
    send(page, CATEGORIES, do="add", name="bugs")
    assert names(page.get(f"{CATEGORIES}?forum={forum.id}")) == ["General", "Bugs"]
    assert names(page.get(CATEGORIES)) == ["General", "bugs"]


def test_it_rejects_too_many_and_the_last_category_to_be_deleted(acme, monkeypatch):
    monkeypatch.setattr(Category, "MAX_PER_FORUM", 1)
    page = acme.page(acme.alice)
    response = send(page, CATEGORIES, status=422, do="add", name="Bugs")
    assert errors_on(response) == ["Can't be added: a forum can't have more categories"]
    assert "Add another one first." in page.get(path_of(acme.category))
    response = send(page, path_of(acme.category), do="delete").follow()
    assert texts(response, ".notice.error") == ["Category is the only one, and every suggestion is in one"]


def test_errors_are_in_the_language_of_the_user(acme):
    """Beside a field, an error is only the message of the model. Elsewhere it begins with the name of the field."""
    acme.account.users.filter(id=acme.alice.id).update(language="pl")
    page = acme.page(acme.alice)
    assert errors_on(send(page, CATEGORIES, status=422, do="add", name="general")) == ["Ta wartość jest już zajęta"]
    response = send(page, path_of(acme.category), do="delete").follow()
    assert texts(response, ".notice.error") == ["Kategoria: jest jedyna, a każda propozycja musi ją mieć"]


def test_it_rejects_moving_very_many_posts(acme, monkeypatch):
    monkeypatch.setattr(Category, "MAX_MOVED_POSTS", 1)
    other = make_category(acme.account, "Bugs")
    make_post(acme.alice)
    make_post(acme.alice).trash(by=acme.alice)
    page = acme.page(acme.alice)
    assert "It has more than 1 suggestions" in page.get(path_of(acme.category))
    response = send(page, path_of(acme.category), do="delete", into=other.id).follow()
    assert texts(response, ".notice.error") == ["Category has more suggestions than can be moved at once"]


def test_a_category_that_was_deleted_in_another_tab(acme):
    row = make_category(acme.account, "Bugs")
    page = acme.page(acme.alice)
    category_page = page.get(path_of(row))
    row.erase()
    category_page.forms["delete"].submit(status=404)
    category_page.forms["category"].submit("do", status=404)
    response = send(page, CATEGORIES, do="move", id=row.id, step="up").follow()
    assert texts(response, ".notice.error") == ["The list has changed in the meantime. This is how it looks now."]
