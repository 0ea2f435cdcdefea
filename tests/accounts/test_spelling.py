"""The words that the rows of an account have: learnt by the database, whatever writes a row, and forgotten by housekeeping."""

import pytest
from django.db import connection

from accounts.models import Account, User
from core.models import StaleWord, Word
from crm.models import Client
from forum.models import Post
from tests.support.assertions import read
from tests.support.factories import make_client, make_contact, make_contact_list, make_deal, make_post, make_user
from tests.support.lists import names


def words(account: Account, table: str = "crm_client") -> set[str]:
    return set(Word.objects.filter(account=account, kind=table).values_list("word", flat=True))


def clean_up() -> None:
    StaleWord.objects.clean_up()
    assert not StaleWord.objects.exists()


def found(acme, query: str, path: str = "/app/clients.json") -> list[str]:
    return names(acme.json().get(path, params={"q": query}))


def test_words_of_five_letters_or_more_of_the_short_texts(acme):
    make_client(
        acme.alice, "Łucja Źdźbło-Kowalska III", email="lucja.k2000@example.com", street="Długosza", note="Secretly"
    )
    assert words(acme.account) == {"lucja", "zdzblo", "kowalska", "example"}


def test_each_searched_table_has_its_own(acme):
    make_client(acme.alice, "Clients")
    make_contact(acme.alice, "Contacts")
    make_contact_list(acme.alice, "Listed")
    make_deal(acme.alice, "Dealing")
    make_post(acme.alice, "Posting")
    acme.account.statuses.create(kind="deal", code="waiting", name="Waits")
    make_user(acme.account, "wilhelmina", role="member")
    for table, word in {
        "crm_client": "clients",
        "crm_contact": "contacts",
        "crm_contactlist": "listed",
        "crm_deal": "dealing",
        "forum_post": "posting",
        "accounts_status": "waits",
        "accounts_user": "wilhelmina",
    }.items():
        having = Word.objects.filter(account=acme.account, word=word).values_list("kind", flat=True)
        assert list(having) == [table]


def test_however_rows_are_written(acme):
    made = {"account": acme.account, "creator_id": acme.alice.id, "updater_id": acme.alice.id}
    rows = Client.objects.bulk_create([Client(**made, name=name) for name in ("Anton", "Berta")])
    assert words(acme.account) == {"anton", "berta"}
    Client.objects.filter(id=rows[0].id).update(name="Caesar")
    assert words(acme.account) == {"anton", "berta", "caesar"}
    clean_up()
    assert words(acme.account) == {"berta", "caesar"}


def test_a_word_is_forgotten_with_the_last_row_that_has_it(acme, other):
    first, second = make_client(acme.alice, "Kowalski"), make_client(acme.alice, "Kowalski Junior")
    make_client(other.mallory, "Kowalski")
    first.trash(by=acme.alice)
    clean_up()
    assert words(acme.account) == {"kowalski", "junior"}
    second.trash(by=acme.alice)
    clean_up()
    assert words(acme.account) == set()
    assert words(other.account) == {"kowalski"}


def test_it_comes_back_with_its_row(acme):
    client = make_client(acme.alice, "Kowalski")
    client.trash(by=acme.alice)
    clean_up()
    client.restore()
    clean_up()
    assert words(acme.account) == {"kowalski"}
    assert found(acme, "kovalski") == ["Kowalski"]


def test_a_row_that_is_deleted_at_once(acme):
    make_contact_list(acme.alice, "Newsletter").delete()
    clean_up()
    assert words(acme.account, "crm_contactlist") == set()


def test_a_user_of_either_kind(acme):
    user = make_user(acme.account, "wilhelmina", role="member")
    User.objects.filter(pk=user.pk).update(role="agent")
    clean_up()
    assert "wilhelmina" in words(acme.account, "accounts_user")


def test_nothing_is_noted_of_what_changes_no_word(acme):
    post = make_post(acme.alice, "Keyboard shortcuts")
    post.vote(by=acme.bob)
    Post.objects.filter(id=post.id).update(content="Something else entirely")
    assert not StaleWord.objects.exists()


def test_the_closest_words_come_first_and_are_the_accounts_own(acme, other):
    for name in ("Kowalski", "Kowalska", "Kowalewski", "Nowak"):
        make_client(acme.alice, name)
    make_client(other.mallory, "Kovalskij")
    like = Word.objects.similar(acme.account.id, "crm_client", ["kowalskki", "nowka", "zebra"])
    assert like["kowalskki"][0] == "kowalski"
    assert set(like["kowalskki"]) == {"kowalski", "kowalska", "kowalewski"}
    assert like["nowka"] == ["nowak"]
    assert like["zebra"] == []
    assert Word.objects.similar(acme.account.id, "crm_contact", ["kovalski"]) == {"kovalski": []}


def test_a_mistyped_word_is_found_from_its_first_row_on(acme):
    json = acme.json()
    response = json.post("/app/clients.json", json={"client": {"name": "Przedsiębiorstwo Wielobranżowe"}})
    assert response.status_code == 201, read(response)
    assert found(acme, "wielobranzwoe") == found(acme, "przedsiebiorstow") == ["Przedsiębiorstwo Wielobranżowe"]


@pytest.mark.django_db(transaction=True)
def test_words_are_noted_by_several_at_once(acme):
    """Each connection notes for itself; the same note twice of one connection is one."""
    client = make_client(acme.alice, "Kowalski")
    for name in ("Nowak", "Kowalski", "Nowak"):
        Client.objects.filter(id=client.id).update(name=name)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [own] = cursor.fetchone()
    assert set(StaleWord.objects.values_list("word", "noted_by")) == {("kowalski", own), ("nowak", own)}
    StaleWord.objects.create(account=acme.account, kind="crm_client", word="nowak", noted_by=own + 1)
    clean_up()
    assert words(acme.account) == {"nowak"}
