"""The completion of mentions, and the users that a text mentions."""

import pytest

from forum.comments.commenting import mentioned_ids
from tests.support.factories import make_comment, make_post, make_user
from tests.support.queries import capture_queries


@pytest.fixture
def post(acme):
    make_user(acme.account, "stranger")
    post = make_post(acme.carol)
    make_comment(post, make_user(acme.account, "borys", name="Zofia Bąk"))
    post.comment(by=make_user(acme.account, "boss", role="agent"), text="For us", internal=True)
    return post


def found(acme, user, post, q: str) -> list[str]:
    return [row["name"] for row in acme.page(user).get(f"/app/posts/{post.id}/mentions?q={q}").json]


def test_it_works(acme, post):
    response = acme.page(acme.carol).get(f"/app/posts/{post.id}/mentions?q=BO")
    assert sorted(response.json, key=str) == [{"name": "Bob Nowak"}, {"name": "boss"}]
    assert found(acme, acme.carol, post, "nowak") == ["Bob Nowak"]
    assert found(acme, acme.carol, post, "zof") == ["Zofia Bąk"]
    assert found(acme, acme.bob, post, "car") == ["Carol Member"]
    # It shows nobody else, and users are not offered their own name.
    assert found(acme, acme.carol, post, "stranger") == found(acme, acme.carol, post, "carol") == []


def test_it_shows_and_searches_no_logins(acme, post):
    make_user(acme.account, "tamara-secret", role="agent", name="Ola")
    make_comment(post, make_user(acme.account, "zed-secret", name="Ula"))
    for user in (acme.carol, acme.bob):
        assert found(acme, user, post, "ol") == ["Ola"]
        assert found(acme, user, post, "tamara") == found(acme, user, post, "zed") == []
        assert "secret" not in acme.page(user).get(f"/app/posts/{post.id}/mentions?q=").text


def test_every_name_that_it_shows_mentions_its_user(acme, post):
    for number, (name, role) in enumerate(
        [
            ("Twin", "agent"),
            ("Twin", "agent"),
            ("Eva", "agent"),
            ("Eva", "member"),
            ("Kim", "member"),
            ("Kim", "member"),
        ]
    ):
        make_comment(post, make_user(acme.account, f"same-{number}", name=name, role=role))
    make_user(acme.account, "long", role="agent", name="One Two Three Four")
    make_user(acme.account, "odd", role="agent", name="Ann (Support)")
    names = found(acme, acme.carol, post, "")
    assert sorted(names) == ["Bob Nowak", "Eva", "Zofia Bąk", "alice", "boss"]
    roles = dict(acme.account.users.values_list("id", "role"))
    for name in names:
        [id] = mentioned_ids(acme.account, f"Ask @{name}.", post=post, author_id=acme.carol.id)
        assert acme.account.users.get(id=id).name == name
        assert roles[id] == "agent" or name != "Eva"
    for name in ("Twin", "Kim"):
        assert mentioned_ids(acme.account, f"@{name}", post=post, author_id=acme.carol.id) == []


def test_it_rejects_posts_that_the_user_may_not_see(acme, post):
    post.write({"private": True, "user_id": acme.bob.id}, by=acme.bob)
    private = make_post(acme.bob, private=True)
    for id in (private.id, 10**9):
        acme.page(acme.carol).get(f"/app/posts/{id}/mentions?q=b", status=404)


MENTIONED = {
    "@carol": ["carol"],
    "Ask @Carol, or @bob.": ["bob", "carol"],
    "(@carol)": ["carol"],
    "@Bob Nowak knows": ["bob"],
    "@Bob": ["bob"],
    "mail carol@carol.example": [],
    "@Carol Member": ["carol"],
    "@Twin": [],
    "@nobody": [],
    "@": [],
    "@left": [],
    "@carol " * 50: ["carol"],
    # The author.
    "@alice": [],
}


def test_mentions_in_a_text(acme):
    make_user(acme.account, "twin-1", role="agent", name="Twin")
    make_user(acme.account, "twin-2", role="agent", name="Twin")
    make_user(acme.account, "left", is_active=False)
    logins, post = dict(acme.account.users.values_list("id", "login")), make_post(acme.bob)
    found = {text: mentioned_ids(acme.account, text, post=post, author_id=acme.alice.id) for text in MENTIONED}
    assert {text: sorted(logins[id] for id in ids) for text, ids in found.items()} == MENTIONED


def test_members_mention_only_the_team_and_those_who_wrote_on_the_page(acme, post):
    """A member must not find out the logins of others, nor have e-mails sent to each of them."""
    dan = make_user(acme.account, "dan")
    ids = dict(acme.account.users.values_list("id", "login"))

    def mentioned(author) -> list[str]:
        text = "@stranger @carol @borys @bob"
        return sorted(ids[id] for id in mentioned_ids(acme.account, text, post=post, author_id=author.id))

    assert mentioned(dan) == ["bob", "borys", "carol"]
    assert mentioned(acme.alice) == ["bob", "borys", "carol", "stranger"]
    assert html_of(post.comment(by=dan, text="@stranger")) == html_of(post.comment(by=dan, text="@nobody")).replace(
        "nobody", "stranger"
    )


def html_of(comment) -> str:
    comment.refresh_from_db()
    return comment.comment_html


MARKED = {
    "Ask @Bob Nowak, please.": "<p>Ask <b>@Bob Nowak</b>, please.</p>\n",
    "*@bob* and @BOB.": "<p><em><b>@bob</b></em> and <b>@BOB</b>.</p>\n",
    "@nobody @Twin @Twin-1x @carol @left": "<p>@nobody @Twin @Twin-1x @carol @left</p>\n",
    # The mark must not reveal whether the user wants notifications.
    "@silent": "<p><b>@silent</b></p>\n",
    "bob@bob.example": ('<p><a href="mailto:bob@bob.example" rel="nofollow ugc noopener">bob@bob.example</a></p>\n'),
    # The longest name counts. Two users have it, so nobody is mentioned.
    "@Bob @Bob Twin": "<p><b>@Bob</b> @Bob Twin</p>\n",
    "`@bob` @bob": "<p><code>@bob</code> <b>@bob</b></p>\n",
    "@bob <i>b</i>": "<p><b>@bob</b> &lt;i&gt;b&lt;/i&gt;</p>\n",
}


def test_mentions_are_marked_in_a_comment(acme, post):
    for number, name in enumerate(("Twin", "Twin", "Bob Twin", "Bob Twin")):
        make_user(acme.account, f"twin-{number}", role="agent", name=name)
    make_user(acme.account, "left", is_active=False)
    make_user(acme.account, "silent", role="agent", notification="none")
    assert {text: html_of(post.comment(by=acme.carol, text=text)) for text in MARKED} == MARKED


def test_an_edited_comment_marks_only_the_users_that_it_has_notified(acme, post):
    comment = post.comment(by=acme.carol, text="@bob")
    # The second edit finds both in the text before it, but Alice not in the first text.
    for text in ("@bob, or @alice?", "@bob, or @alice!"):
        post.edit_comment(comment, text, by=acme.bob)
        assert html_of(comment) == f"<p><b>@bob</b>, or @alice{text[-1]}</p>\n"


def test_only_a_comment_with_a_mention_takes_statements_for_it(acme, post):
    def statements(text: str) -> int:
        return len(capture_queries(lambda: post.comment(by=acme.carol, text=text))[1])

    # The logins; the names of the team. For a member, also whether they wrote on the page.
    assert statements("@bob") == statements("Ask bob") + 2
    assert statements("@borys") == statements("Ask bob") + 3
