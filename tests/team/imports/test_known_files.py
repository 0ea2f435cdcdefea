"""Files of known services, which are imported with the guessed settings."""

from pathlib import Path

from team.imports.faults import ImportFault
from team.imports.models import Import
from tests.support.factories import make_client
from tests.support.jobs import run_jobs
from tests.support.tables import table

FILES = Path(__file__).parent.parent / "spreadsheets" / "files"
# Tables that complete the suggestions of another one.
COMPLETING = {
    "canny_votes.csv": "canny_posts.csv",
    "quackback_votes.csv": "quackback_posts.csv",
    "quackback_comments.csv": "quackback_posts.csv",
    "uservoice_comments.csv": "uservoice_ideas.csv",
}


def contents(name: str) -> bytes:
    return (FILES / name).read_bytes()


def imported(acme, name: str) -> Import:
    row = Import.upload(acme.account, by=acme.alice, name=name, chunks=[contents(name)])
    assert row.error is None
    row.plan()
    row.start(by=acme.alice)
    assert list(ImportFault.objects.filter(import_id=row.id).values_list("number", "faults")) == []
    return row


def test_it_works(acme, subtests):
    names = sorted(path.name for path in FILES.iterdir() if path.name not in COMPLETING)
    assert len(names) > 15
    for name in names:
        with subtests.test(name):
            row = imported(acme, name)
            assert row.created or row.changed
            row.undo(by=acme.alice)
            assert row.kept == 0
    for name, suggestions in COMPLETING.items():
        with subtests.test(name):
            imported(acme, suggestions)
            row = imported(acme, name)
            assert (row.created, row.changed > 0) == (0, True)


def test_one_of_several_ids_is_kept(acme):
    """Of the ids of associated companies, the first one that exists is taken, with its name."""
    old = make_client(acme.alice, "Nakrętki", external_ids={"hubspot": "9002"})
    row = Import.upload(
        acme.account, by=acme.alice, name="hubspot_contacts.csv", chunks=[contents("hubspot_contacts.csv")]
    )
    row.plan()
    assert row.preview(acme.alice)["further_ids"] == {"Clients": ["9001"]}
    row.begin_check()
    run_jobs()
    row.refresh_from_db()
    assert row.checked["further_ids"] == {"Clients": ["9001"]}
    row.start(by=acme.alice)
    assert list(acme.account.clients.values_list("id", "name", "external_ids")) == [
        (old.id, "Hurtownia Nakrętek", {"hubspot": "9002"})
    ]
    assert acme.account.contacts.get(first_name="Zofia").client_id == old.id


@table(
    ("known", "name", "further"),
    [
        ({"hubspot": "9302"}, "Old", {"Client": ["9301"]}),
        ({}, "Aço Norte", {"Client": ["9302"]}),
    ],
)
def test_a_link_has_one_of_several_ids(acme, known, name, further):
    make_client(acme.alice, "Old", external_ids=known)
    row = Import.upload(acme.account, by=acme.alice, name="deals.csv", chunks=[contents("hubspot_deals_pt.csv")])
    row.plan()
    assert row.preview(acme.alice)["further_ids"] == further
    row.start(by=acme.alice)
    assert acme.account.clients.get(id=acme.account.deals.get().client_id).name == name


def test_the_tables_of_a_backup_are_combined(acme):
    row = imported(acme, "fider_backup.zip")
    assert row.format == "Fider"
    post = acme.account.posts.get()
    users = {user.id: user.email for user in acme.account.users.all()}
    assert (post.title, users[post.user_id], post.tags, post.created_at.year) == (
        "Szybciej",
        "zofia@zaklad.example",
        ["łatwe"],
        2018,
    )
    assert (post.votes_cache, post.comments_cache) == (2, 1)
    assert {users[id] for id in acme.account.votes.values_list("user_id", flat=True)} == {
        "ewa@acme.example",
        "zofia@zaklad.example",
    }
    comment = acme.account.comments.get()
    assert (comment.comment, users[comment.user_id], comment.created_at.hour) == ("Też proszę", "ewa@acme.example", 20)


def test_the_labels_of_ideas_are_json(acme):
    imported(acme, "uservoice_ideas.csv")
    assert acme.account.posts.get().tags == ["ui", "dark mode"]


def test_the_former_export_of_uservoice_has_responses(acme):
    imported(acme, "uservoice_old.csv")
    values = ("title", "status__name", "response", "votes_cache", "user__email", "created_at__year")
    assert list(acme.account.posts.order_by("id").values_list(*values)) == [
        ("Dark mode", "Started", "We're on it", 0, "zofia@zaklad.example", 2013),
        ("Faster pages", "New", None, 0, "alice@acme.example", 2013),
    ]
