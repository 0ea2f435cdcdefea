"""Files of known services, which are imported with the guessed settings."""

from pathlib import Path

from team.imports.models import Import, ImportFault

FILES = Path(__file__).parent.parent / "spreadsheets" / "files"
# Tables that complete the suggestions of another one.
COMPLETING = {
    "canny_votes.csv": "canny_posts.csv",
    "quackback_votes.csv": "quackback_posts.csv",
    "quackback_comments.csv": "quackback_posts.csv",
    "uservoice_comments.csv": "uservoice_ideas.csv",
}


def imported(acme, name: str) -> Import:
    row = Import.upload(acme.account, by=acme.alice, name=name, chunks=[(FILES / name).read_bytes()])
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
