"""The words of an account's rows. Triggers record them on every write. Housekeeping removes unused words."""

import pytest
from django.db import connection

from accounts.account.models import Account
from accounts.users.models import User
from core.search.spelling import StaleWord, Word
from crm.clients.models import Client
from forum.posts.models import Post
from tests.support.factories import make_client, make_contact, make_contact_list, make_deal, make_post, make_user
from tests.support.lists import values_of


def words(account: Account, table: str = "crm_client") -> set[str]:
    return set(Word.objects.filter(account=account, kind=table).values_list("word", flat=True))


def clean_up() -> None:
    StaleWord.objects.clean_up()
    assert not StaleWord.objects.exists()


def test_words_of_at_least_five_letters_are_recorded(acme):
    make_client(
        acme.alice, "Łucja Źdźbło-Kowalska III", email="lucja.k2000@example.com", street="Długosza", note="Secretly"
    )
    assert words(acme.account) == {"lucja", "zdzblo", "kowalska", "example"}


def test_each_searched_table_has_its_own_words(acme):
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
        tables = Word.objects.filter(account=acme.account, word=word).values_list("kind", flat=True)
        assert list(tables) == [table]


def test_bulk_writes_record_words(acme):
    common = {"account": acme.account, "creator_id": acme.alice.id, "updater_id": acme.alice.id}
    rows = Client.objects.bulk_create([Client(**common, name=name) for name in ("Anton", "Berta")])
    assert words(acme.account) == {"anton", "berta"}
    Client.objects.filter(id=rows[0].id).update(name="Caesar")
    assert words(acme.account) == {"anton", "berta", "caesar"}
    clean_up()
    assert words(acme.account) == {"berta", "caesar"}


def test_a_word_is_removed_with_its_last_row(acme, other):
    first, second = make_client(acme.alice, "Kowalski"), make_client(acme.alice, "Kowalski Junior")
    make_client(other.mallory, "Kowalski")
    first.trash(by=acme.alice)
    clean_up()
    assert words(acme.account) == {"kowalski", "junior"}
    second.trash(by=acme.alice)
    clean_up()
    assert words(acme.account) == set()
    assert words(other.account) == {"kowalski"}
    # A restore records the word again.
    first.restore()
    clean_up()
    assert words(acme.account) == {"kowalski"}
    assert values_of(acme.json().get("/app/clients.json?q=kovalski")) == ["Kowalski"]
    # A deletion without the trash.
    make_contact_list(acme.alice, "Newsletter").delete()
    clean_up()
    assert words(acme.account, "crm_contactlist") == set()


def test_words_of_users_are_kept_when_their_role_changes(acme):
    user = make_user(acme.account, "wilhelmina", role="member")
    User.objects.filter(pk=user.pk).update(role="agent")
    clean_up()
    assert "wilhelmina" in words(acme.account, "accounts_user")


def test_writes_that_change_no_word_record_nothing(acme):
    post = make_post(acme.alice, "Keyboard shortcuts")
    post.vote(by=acme.bob)
    Post.objects.filter(id=post.id).update(content="Something else entirely")
    assert not StaleWord.objects.exists()


def test_similar_words_are_ordered_and_of_the_same_account(acme, other):
    for name in ("Kowalski", "Kowalska", "Kowalewski", "Nowak"):
        make_client(acme.alice, name)
    make_client(other.mallory, "Kovalskij")
    similar = similar_words(acme.account.id, "crm_client", ["kowalskki", "nowka", "zebra"])
    assert similar["kowalskki"][0] == "kowalski"
    assert set(similar["kowalskki"]) == {"kowalski", "kowalska", "kowalewski"}
    assert similar["nowka"] == ["nowak"]
    assert similar["zebra"] == []
    assert similar_words(acme.account.id, "crm_contact", ["kovalski"]) == {"kovalski": []}


def similar_words(*arguments):
    with connection.cursor() as cursor:
        cursor.execute(*Word.objects.similar_step(*arguments))
        return dict(cursor.fetchall())


@pytest.mark.django_db(transaction=True)
def test_each_connection_records_its_own_stale_words(acme):
    """A connection records each stale word once, even if other connections have recorded it too."""
    client = make_client(acme.alice, "Kowalski")
    for name in ("Nowak", "Kowalski", "Nowak"):
        Client.objects.filter(id=client.id).update(name=name)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [pid] = cursor.fetchone()
    assert set(StaleWord.objects.values_list("word", "recorded_by")) == {("kowalski", pid), ("nowak", pid)}
    StaleWord.objects.create(account=acme.account, kind="crm_client", word="nowak", recorded_by=pid + 1)
    clean_up()
    assert words(acme.account) == {"nowak"}
