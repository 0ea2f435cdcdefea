"""Names that are unique in the account, without regard to case and to blanks."""

import pytest
from django.db import IntegrityError, transaction

from accounts.tags.models import Tag
from tests.support.assertions import assert_refused
from tests.support.factories import make_client, make_contact_list
from tests.support.tables import table

pytestmark = pytest.mark.django_db

NAMED = {
    "contact_list": "/app/contact_lists.json",
    "pipeline": "/app/pipelines.json",
    "group": "/app/groups.json",
    "status": "/app/statuses.json",
}
EQUAL = ["open days", "OPEN DAYS", "Open  Days", "Open\u00a0Days"]


@table("key", NAMED)
def test_equal_names_are_taken(acme, key):
    client = acme.json(acme.alice_token)
    fields = {"code": "a"} if key == "status" else {}
    assert client.post(NAMED[key], json={key: {"name": "Open days", **fields}}).status_code == 201
    for name in EQUAL:
        fields = {"code": "b"} if key == "status" else {}
        response = client.post(NAMED[key], json={key: {"name": name, **fields}})
        assert_refused(response, 422, "validation_failed", {"name": ["is already taken"]})


def test_equal_tags_are_one(acme):
    for name in ("Open days", *EQUAL):
        assert make_client(acme.alice, tags=[name]).tags == ["Open days"]
    assert Tag.objects.count() == 1


def test_a_renamed_row_has_another_key(acme):
    row = make_contact_list(acme.alice, "News")
    row.write({"name": "Letters"}, by=acme.alice)
    assert make_contact_list(acme.alice, "news").name_key == "news"
    # The own name in another case is free.
    row.write({"name": "LETTERS"}, by=acme.alice)
    row.refresh_from_db()
    assert (row.name, row.name_key) == ("LETTERS", "letters")


def test_the_database_has_the_rule(acme):
    make_contact_list(acme.alice, "News")
    with pytest.raises(IntegrityError), transaction.atomic():
        acme.account.contact_lists.create(name="NEWS", creator_id=acme.alice.id, updater_id=acme.alice.id)
