"""pyActiveResource, the Python port of ActiveResource, as a client of the Forum API on a real port."""

from dataclasses import dataclass

import pytest
from pyactiveresource.activeresource import ActiveResource
from pyactiveresource.connection import ResourceInvalid, ResourceNotFound, UnauthorizedAccess
from pyactiveresource.formats import XMLFormat

from accounts.users.models import User
from forum.posts.models import Post as PostRow
from tests.support.factories import PASSWORD, make_post
from tests.support.fixtures import Cast
from tests.support.live import serving


@dataclass
class Library:
    acme: Cast
    posts: type[ActiveResource]
    categories: type[ActiveResource]
    users: type[ActiveResource]


@pytest.fixture
def library(transactional_db, settings, request):
    """Return the library's resource classes for alice's forum."""
    settings.LOCAL_ACCOUNT = "acme"
    acme = request.getfixturevalue("acme")
    with serving() as port:

        class Resource(ActiveResource):
            _site = f"http://127.0.0.1:{port}/app"
            _user = "alice"
            _password = PASSWORD
            _timeout = 10
            _format = XMLFormat

        class Post(Resource):
            pass

        class Category(Resource):
            _plural = "categories"

        class User(Resource):
            pass

        yield Library(acme, Post, Category, User)


def test_it_works(library):
    acme = library.acme
    assert library.posts.find() == []
    post = library.posts.create({"title": "A dark theme", "content": "So that one can read at night. & <soon>"})
    row = acme.account.posts.get()
    assert (post.id, post.title, post.content) == (row.id, "A dark theme", "So that one can read at night. & <soon>")
    values = (acme.category.id, "new", "suggestion", None)
    assert (post.category_id, post.status, post.kind, post.responsible_id) == values
    assert post.votes_cache == post.comments_cache == 0

    # The library sends all fields, including the outdated ones.
    post.title = "A darker theme"
    assert post.save() is True
    assert acme.account.posts.get().title == "A darker theme"

    assert library.posts.find(row.id).attributes["comments"] == []
    row.comment(by=acme.carol, text="Yes, please.")
    found = library.posts.find(row.id)
    assert found.attributes["post"].title == "A darker theme"
    assert [comment.comment for comment in found.comments] == ["Yes, please."]

    second = make_post(acme.alice, "Second")
    assert [(each.id, each.title) for each in library.posts.find()] == [
        (second.id, "Second"),
        (row.id, "A darker theme"),
    ]
    assert [each.title for each in library.posts.find(order="old", per_page=1)] == ["A darker theme"]
    assert [(category.id, category.name) for category in library.categories.find()] == [(acme.category.id, "General")]

    post.destroy()
    assert PostRow.objects.get(pk=row.pk).trashed_at is not None
    with pytest.raises(ResourceNotFound):
        library.posts.find(row.id)

    assert library.users.get("me")["login"] == "alice"
    assert [user["login"] for user in library.users.get("team")] == ["bob", "alice"]
    created = library.users.create({"login": "ann", "email": "ann@example.com", "password": "kind-of-blue-59"})
    assert created.name == "ann"
    assert acme.account.users.get(login="ann").role == User.Role.MEMBER


def test_the_library_understands_errors(library):
    post = library.posts({"title": ""})
    assert post.save() is False
    assert post.errors.errors == {"title": ["can't be blank"]}
    user = library.users({"login": "alice", "email": "ann@example.com", "password": "12345"})
    assert user.save() is False
    assert user.errors.errors == {
        "login": ["is already taken"],
        "password": ["is too short (minimum is 8 characters)", "is too common", "can't be entirely numeric"],
    }
    assert PostRow.objects.count() == 0
    library.posts.password = "wrong"
    with pytest.raises(UnauthorizedAccess):
        library.posts.find()
    with pytest.raises((UnauthorizedAccess, ResourceInvalid)):
        library.posts.create({"title": "No"})
