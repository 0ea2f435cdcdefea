"""The rule of the members of a forum, and the readers of the rule. The walks over all routes are in test_page_access and test_route_contracts."""

from types import SimpleNamespace

import pytest
from django.core import mail

from accounts.hosts.names import full_name
from accounts.users.invitations import Invitation
from accounts.users.models import User
from core.errors import FieldErrors
from forum.activities.models import Activity
from forum.forums.membership import MAX_ADDRESSES, ForumAddress, ForumMember, read_addresses
from forum.forums.models import Forum
from forum.notifications.emails import send_notifications
from forum.notifications.models import Notification
from forum.notifications.recipients import notifications_of, notify
from tests.support.assertions import read
from tests.support.client import XMLClient
from tests.support.codes import request_code, sign_in_with_code
from tests.support.factories import (
    PASSWORD,
    make_client,
    make_comment,
    make_forum,
    make_post,
    make_saved_view,
    make_token,
    make_user,
)
from tests.support.followers import run_followers
from tests.support.membership import WAYS, add, list_as, make_client_of_segment, use_segment
from tests.support.pages import Visitor
from tests.support.queries import capture_queries
from tests.support.tables import table

Access = Forum.Access
every_way = table("way", WAYS.values())
every_closed_access = table("access", [Access.PRIVATE, Access.LIST, Access.SEGMENT])
POST = "<post><title>A wish</title></post>"


@pytest.fixture
def board(acme) -> Forum:
    """A second forum of acme, with a suggestion."""
    forum = make_forum(acme.account, "board", access=Access.PRIVATE)
    forum.account, forum.name = acme.account, "Board"
    forum.save()
    # At a custom domain, the team has the rights of a member.
    acme.account.hosts.filter(id=forum.host_id).update(name="acme-board")
    return forum


@pytest.fixture
def plan(acme, board):
    return make_post(acme.bob, "Plan of the board", forum_id=board.id)


def host_of(forum: Forum) -> str:
    return full_name(forum.account.hosts.get(id=forum.host_id).name)


def page_of(forum: Forum, user: User | None = None) -> Visitor:
    visitor = Visitor(host_of(forum))
    return visitor.start_session(user) if user else visitor


def xml_of(forum: Forum, user: User, password: str = PASSWORD) -> XMLClient:
    return XMLClient(host_of(forum), auth=(user.login, password))


def token_of(visitor: Visitor, path: str = "/app/profile") -> str:
    return visitor.get(path).html.find("input", {"name": "csrfmiddlewaretoken"})["value"]


def set_access(forum: Forum, access: str, **values) -> None:
    forum.access = access
    for name, value in values.items():
        setattr(forum, name, value)
    forum.save()


@every_way
def test_it_works(acme, board, plan, way):
    """A member reads and writes, from the next request after joining to the last request before leaving."""
    set_access(board, way.access)
    is_readable = way.access == Access.MEMBERS
    page, client = page_of(board, acme.carol), xml_of(board, acme.carol)
    for is_member in (False, True, False):
        if is_member:
            way.join(board, acme.carol)
        elif board.account.forum_members.exists() or board.account.forum_addresses.exists() or board.segment_id:
            way.leave(board, acme.carol)
        reads = is_member or is_readable
        entry = Forum.objects.find_rights(acme.carol, board.id)
        assert (entry.may_read, entry.may_write) == (reads, is_member)
        assert list(board.account.posts.visible_to(acme.carol).filter(id=plan.id)) == ([plan] if reads else [])
        assert client.get("/").status_code == (200 if reads else 401)
        if way.join is not add:
            # The requests ask for the same rights, however the member got them.
            continue
        assert page.get("/", expect_errors=True).status_code == (200 if reads else 403)
        assert page.get(f"/app/posts/{plan.id}", expect_errors=True).status_code == (200 if reads else 403)
        assert client.get(f"/app/posts/{plan.id}.xml").status_code == (200 if reads else 401)
        expected = 201 if is_member else 403 if is_readable else 401
        assert client.send_xml("POST", "/app/posts.xml", POST).status_code == expected
        form = {"vote": "1", "csrfmiddlewaretoken": token_of(page)}
        vote = page.post(f"/app/posts/{plan.id}/vote", form, expect_errors=True)
        assert vote.status_code == (303 if is_member else 403)
        plan.withdraw_vote(by=acme.carol)


def test_xml_checks_the_password_before_the_forum(acme, board, monkeypatch):
    """The time of the answer does not show whether a login belongs to a member of the forum."""
    checked = []
    monkeypatch.setattr(
        "accounts.sessions.passwords.check_password", lambda *args, **kwargs: checked.append(args) or False
    )
    dora = make_user(acme.account, "dora")
    add(board, dora)
    counts = set()
    # Fill the cache of hosts.
    XMLClient(host_of(board)).get("/")
    for user in (acme.carol, dora):
        _response, queries = capture_queries(lambda user=user: xml_of(board, user, "wrong").get("/"))
        counts.add(len(queries))
    assert len(checked) == 2
    assert len(counts) == 1


def test_the_team_belongs_to_all_forums(acme, board):
    acme.carol.change_role(User.Role.AGENT, by=acme.alice)
    for access in Access:
        set_access(board, access)
        for user in (acme.alice, acme.bob, acme.carol):
            entry = Forum.objects.find_rights(user, board.id)
            assert entry.may_read
            assert entry.may_write
    assert page_of(board, acme.carol).get("/").status_code == 200
    assert xml_of(board, acme.bob).get("/").status_code == 200


def test_users_of_another_account_do_not_count(acme, other, board):
    """A list and a segment admit users of the account only."""
    list_as(lambda user: user.email)(board, other.mallory)
    set_access(board, Access.LIST)
    assert xml_of(board, other.mallory).get("/").status_code == 401


def test_each_of_several_members_is_found_alike(acme, board):
    """The rule for one user, and the rule for many, are the same."""
    users = [make_user(acme.account, f"member{number}", email=f"m{number}@d{number}.example") for number in range(6)]
    add(board, users[0])
    list_as(lambda user: user.email)(board, users[1])
    list_as(lambda user: "d2.example")(board, users[2])
    make_client_of_segment(board, users[3])
    ForumMember.objects.create(account=acme.account, forum_id=board.id, user_id=users[4].id, state="pending")
    listed, segment = {users[1].id, users[2].id}, {users[3].id}
    for access, others in ((Access.LIST, listed), (Access.SEGMENT, segment)):
        set_access(board, access)
        expected = {users[0].id} | others
        assert board.members_among([user.id for user in users]) == expected
        for user in users:
            user.account = acme.account
            entry = Forum.objects.find_rights(user, board.id)
            assert entry.may_read == entry.may_write == (user.id in expected)
            assert acme.account.forums.visible_to(user).filter(id=board.id).exists() == (user.id in expected)


@table(
    ("query", "shared", "is_admitted"),
    [
        ("city=Berlin", True, True),
        ("", True, True),
        ("city=Paris", True, False),
        # Not a segment of a forum: a view of one person, with a search, or with a field that is gone.
        ("city=Berlin", False, False),
        ("q=Berlin", True, False),
        ("custom.size=S", True, False),
        ("unknown=1", True, False),
    ],
)
def test_a_segment_is_a_shared_view_without_search(acme, board, query, shared, is_admitted):
    view = make_saved_view(acme.alice, shared=True)
    acme.account.saved_views.filter(id=view.id).update(query=query, shared=shared)
    make_client(acme.alice, city="Berlin", email=acme.carol.email)
    set_access(board, Access.SEGMENT, segment_id=view.id)
    assert (board.members_among([acme.carol.id]) == {acme.carol.id}) == is_admitted
    view.erase()
    board.refresh_from_db()
    assert board.segment_id is None
    assert board.members_among([acme.carol.id]) == set()


def test_a_client_in_the_trash_is_in_no_segment(acme, board):
    make_client_of_segment(board, acme.carol)
    set_access(board, Access.SEGMENT)
    assert board.members_among([acme.carol.id])
    acme.account.clients.get().trash(by=acme.alice)
    assert not board.members_among([acme.carol.id])


# What follows the rule


def test_the_switcher_shows_the_forums_of_the_user(acme, board):
    def names(user):
        return [link.get_text().strip() for link in page_of(acme.forum, user).get("/").html.select(".sites a")]

    assert names(acme.carol) == []
    assert names(acme.bob) == ["Board"]
    add(board, acme.carol)
    assert names(acme.carol) == ["Board"]
    for access, shown_names in ((Access.PUBLIC, ["Board"]), (Access.MEMBERS, ["Board"]), (Access.LIST, [])):
        board.account.forum_members.all().delete()
        set_access(board, access)
        assert names(acme.carol) == shown_names


def test_notifications_follow_membership(acme, board, plan):
    add(board, acme.carol)
    plan.vote(by=acme.carol)
    comment = make_comment(plan, acme.bob, "News for the board")
    run_followers()
    run_followers()
    token = make_token(acme.carol)
    member = User.objects.get(account_id=acme.account.id, id=acme.carol.id)

    def seen():
        page = page_of(acme.forum, acme.carol).get("/app/notifications")
        count = page.html.select_one(".bell .count")
        listed = read(acme.json(token).get("/app/notifications.json"))
        return "Plan of the board" in page.text, count and count.get_text(), [row["comment_id"] for row in listed]

    assert seen() == (True, "1", [comment.id])
    ids = list(acme.account.notifications.values_list("id", flat=True))
    acme.account.forum_members.all().delete()
    assert seen() == (False, None, [])
    send_notifications(account_id=acme.account.id, user_id=member.id, ids=ids)
    assert not mail.outbox
    add(board, acme.carol)
    assert seen() == (True, "1", [comment.id])


@every_closed_access
def test_nobody_is_notified_of_a_forum_that_they_may_not_read(acme, board, plan, access):
    """Neither voters, followers, mentioned users, nor those who chose news of everything."""
    dora = make_user(acme.account, "dora", notification="all")
    plan.vote(by=acme.carol)
    comment = make_comment(plan, acme.bob, "@carol @dora, look")
    activity = Activity.objects.get(comment_id=comment.id)
    activity.comment = comment
    set_access(board, access)
    assert {each.user_id for each in notifications_of(activity, plan, acme.account)} == {acme.alice.id}
    add(board, dora)
    assert {each.user_id for each in notifications_of(activity, plan, acme.account)} == {acme.alice.id, dora.id}


def test_a_digest_does_not_name_a_closed_default_forum(acme, board):
    default = acme.forum
    default.account = acme.account
    set_access(default, Access.PRIVATE, name="Secret council")
    acme.carol.change(delivery="daily", notification="all")
    add(board, acme.carol)
    for number in range(2):
        post = make_post(acme.bob, f"Wish {number}", forum_id=board.id)
        activity = Activity.objects.create(account=acme.account, kind="new_post", post_id=post.id, user_id=acme.bob.id)
        notify(activity, post, acme.account)
    ids = list(Notification.objects.filter(user_id=acme.carol.id).values_list("id", flat=True))
    assert len(ids) == 2
    send_notifications(account_id=acme.account.id, user_id=acme.carol.id, ids=ids)
    [letter] = mail.outbox
    assert "Secret council" not in letter.message().as_string()
    assert f"http://{host_of(board)}" in letter.body or host_of(board) in letter.body


def test_completion_and_previews_leave_out_strangers(acme, board, plan):
    add(board, acme.carol)
    make_comment(plan, acme.carol, "Mine")
    path = f"/app/posts/{plan.id}/mentions?q=car"
    assert [row["name"] for row in page_of(board, acme.bob).get(path).json] == ["Carol Member"]
    acme.account.forum_members.all().delete()
    assert page_of(board, acme.bob).get(path).json == []
    path = "/app/posts/similar?title=Plan of the board"
    assert "Plan" in page_of(board, acme.bob).get(path).text
    assert page_of(board, acme.carol).get(path, expect_errors=True).status_code == 403


def test_unsubscribing_names_no_hidden_suggestion(acme, board, plan):
    from forum.notifications.emails import Sender, unsubscribe_address

    address = unsubscribe_address(acme.carol, Sender("Board", host_of(board)), plan.id).partition("/app/")[2]
    visitor = page_of(acme.forum)
    assert "Plan of the board" not in visitor.get(f"/app/{address}").text
    add(board, acme.carol)
    assert "Plan of the board" in visitor.get(f"/app/{address}").text


def test_a_reader_who_is_no_member_signs_in_but_takes_no_part(acme, board, plan):
    """A forum that is public to read is written by its members only, and not by everyone who signed up at another forum."""
    set_access(board, Access.MEMBERS)
    path = f"/app/posts/{plan.id}/vote/first"
    page = sign_in_with_code(page_of(board), acme.carol.email, path).follow()
    assert "only its members can take part" in page.text
    assert not plan.account.votes.filter(user_id=acme.carol.id).exists()


# Signing up


@table("access", [Access.LIST, Access.SEGMENT])
def test_a_code_or_a_link_goes_to_permitted_people_only(acme, board, access):
    """Nobody learns from the answer who is permitted. The person sees the forum as long as they are."""
    set_access(board, access)
    if access == Access.LIST:
        list_as(lambda user: "partner.example")(board, acme.carol)
    else:
        use_segment(board)
        make_client(acme.alice, city="Berlin", email="ann@partner.example")
    pages, counts, receivers = set(), set(), []
    for email in ("ann@partner.example", "eve@stranger.example", acme.carol.email):
        form = page_of(board).get("/app/sign-in").forms["code-request"]
        form["email"] = email
        response, queries = capture_queries(form.submit)
        page = response.follow()
        token = page.html.find("input", {"name": "csrfmiddlewaretoken"})["value"]
        pages.add(page.text.replace(token, "").replace(email, ""))
        counts.add(len(queries))
        receivers += [letter.to for letter in mail.outbox]
        mail.outbox.clear()
    assert (len(pages), len(counts), receivers) == (1, 1, [["ann@partner.example"]])
    visitor = page_of(board)
    assert sign_in_with_code(visitor, "ann@partner.example").status_code == 303
    assert visitor.get("/").status_code == 200
    ann = acme.account.users.get(email="ann@partner.example")
    assert not acme.account.forum_members.filter(user_id=ann.id).exists()
    acme.account.forum_addresses.all().delete()
    acme.account.clients.update(email_key="moved@partner.example")
    assert visitor.get("/", expect_errors=True).status_code == 403


def test_a_stranger_with_a_code_sees_one_forum(acme, board, plan):
    visitor = page_of(acme.forum)
    sign_in_with_code(visitor, "eve@stranger.example")
    page = visitor.get("/")
    assert page.html.select(".sites a") == []
    assert "Board" not in page.text
    eve = acme.account.users.get(email="eve@stranger.example")
    response = page_of(board, eve).get("/?q=plan", expect_errors=True)
    assert response.status_code == 403
    assert "Plan of the board" not in response.text
    assert "only for its members" in response.text
    # A code is sent to them there no more than to anybody else.
    mail.outbox.clear()
    request_code(page_of(board), "eve@stranger.example")
    assert not mail.outbox


def test_an_invitation_names_its_forum(acme, board):
    page = acme.page(acme.alice)
    form = page.get("/app/account/users?tab=invitations").forms["invite"]
    form["email"], form["role"], form["site_id"] = "dora@example.com", "member", str(board.id)
    assert form.submit().status_code == 303
    [letter] = mail.outbox
    assert letter.subject == "Alice Owner invites you to Board" or letter.subject.endswith("invites you to Board")
    assert host_of(board) in letter.body
    # The code reaches an invited person at that forum only, if the other one lets nobody sign up.
    default = acme.forum
    set_access(default, Access.PRIVATE)
    mail.outbox.clear()
    request_code(page_of(default), "dora@example.com")
    assert not mail.outbox
    visitor = page_of(board)
    sign_in_with_code(visitor, "dora@example.com")
    assert visitor.get("/").status_code == 200
    dora = acme.account.users.get(email="dora@example.com")
    assert [row.forum_id for row in acme.account.forum_members.filter(user_id=dora.id)] == [board.id]
    assert page_of(default, dora).get("/", expect_errors=True).status_code == 403


def test_a_second_invitation_adds_its_forum(acme, board):
    for forum in (acme.forum, board):
        Invitation.objects.invite(
            acme.account, email="dora@example.com", role="member", by=acme.alice, site_ids=[forum.id]
        )
    invitation = acme.account.invitations.get()
    assert invitation.site_ids == sorted([acme.forum.id, board.id])
    user = User.objects.accept(invitation, login="dora", password=None, name="Dora")
    assert acme.account.forum_members.filter(user_id=user.id).count() == 2


def test_a_user_created_by_xml_belongs_to_the_forum_of_the_host(acme, board):
    body = "<user><login>dora</login><email>dora@example.com</email><password>a long pass phrase</password></user>"
    assert xml_of(board, acme.bob).send_xml("POST", "/app/users.xml", body).status_code == 201
    third = make_forum(acme.account, "third", access=Access.PRIVATE)
    third.account = acme.account
    for forum, status in ((board, 200), (third, 401)):
        assert XMLClient(host_of(forum), auth=("dora", "a long pass phrase")).get("/").status_code == status


# The number of statements


def test_the_number_of_statements_is_fixed(acme, board, plan):
    """It depends neither on the number of members, addresses and clients, nor on that of the forums of the account."""

    def count(call):
        call()
        return len(capture_queries(call)[1])

    def all_counts():
        return {
            "page": count(lambda: page_of(board, acme.carol).get("/")),
            "switcher": count(lambda: page_of(acme.forum, acme.carol).get("/")),
            "xml": count(lambda: xml_of(board, acme.carol).get("/")),
            "notifications": count(lambda: page_of(acme.forum, acme.carol).get("/app/notifications")),
            "recipients": count(lambda: board.members_among([acme.carol.id])),
        }

    set_access(board, Access.SEGMENT)
    make_client_of_segment(board, acme.carol)
    before = all_counts()
    for number in range(5):
        forum = make_forum(acme.account, access=Access.SEGMENT, segment_id=board.segment_id)
        forum.account = acme.account
        add(forum, acme.carol)
        list_as(lambda user, number=number: f"d{number}.example")(board, acme.carol)
        make_client(acme.alice, city="Berlin", email=f"c{number}@example.com")
    assert all_counts() == before
    # The team and visitors of a public forum cost nothing.
    set_access(board, Access.PUBLIC)
    assert count(lambda: Forum.objects.find_rights(acme.bob, board.id)) == 0
    assert count(lambda: board.may_be_read_by(None)) == 0


# Lists of addresses


@table(
    ("text", "addresses"),
    [
        ("", []),
        ("ann@example.com\nexample.org", ["ann@example.com", "example.org"]),
        (" @example.com ; Ann@Example.com,EXAMPLE.com", ["example.com", "Ann@Example.com"]),
    ],
)
def test_addresses_are_read(text, addresses):
    assert read_addresses(text) == addresses


def test_it_rejects_invalid_addresses():
    for text in ("example", "a b@", "@", "ann@", "ann@@example.com", "<ann@example.com>", "x." * 200):
        with pytest.raises(FieldErrors, match="neither an e-mail nor a domain"):
            read_addresses(text)
    with pytest.raises(FieldErrors, match=f"more than {MAX_ADDRESSES} lines"):
        read_addresses("\n".join(f"d{number}.example" for number in range(MAX_ADDRESSES + 1)))


def test_a_domain_is_compared_as_a_whole(acme, board):
    set_access(board, Access.LIST)
    ForumAddress.objects.create(account=acme.account, forum_id=board.id, address="partner.example")
    domains = ("partner.example.evil.example", "sub.partner.example", "xpartner.example")
    strangers = [make_user(acme.account, email=f"eve@{domain}") for domain in domains]
    strangers.append(make_user(acme.account, email='"a@partner.example"@evil.example'))
    assert board.members_among([user.id for user in strangers]) == set()
    for user in strangers:
        user.account = acme.account
        assert not Forum.objects.find_rights(user, board.id).may_read


# Closing a forum, and the migration


def test_those_who_took_part_wait_when_a_forum_is_closed(acme, board):
    set_access(board, Access.PUBLIC)
    writer, voter, commenter, reader = (
        make_user(acme.account, name) for name in ("writer", "voter", "talker", "reader")
    )
    post = make_post(writer, forum_id=board.id)
    post.vote(by=voter)
    make_comment(post, commenter)
    add(board, acme.carol)
    post.vote(by=acme.carol)
    board.change(host=host_of(board), access=Access.PRIVATE)
    rows = acme.account.forum_members
    assert {row.user_id for row in rows.pending()} == {writer.id, voter.id, commenter.id}
    assert {row.user_id for row in rows.confirmed()} == {acme.carol.id}
    assert board.members_among([writer.id, voter.id, commenter.id, reader.id]) == set()


# The settings


@pytest.fixture
def settings_page(acme, board):
    path = f"/app/account/forums/{board.id}/members"
    return SimpleNamespace(path=path, visitor=acme.page(acme.alice))


def test_members_are_added_found_and_removed(acme, board, settings_page):
    page = settings_page.visitor.get(settings_page.path)
    form = page.forms["add"]
    form["email"] = "Carol@acme.example"
    page = form.submit(name="do", value="add").follow()
    assert "Carol Member is a member now." in page.text
    assert board.members_among([acme.carol.id])
    assert "carol@acme.example" in settings_page.visitor.get(f"{settings_page.path}?q=carol").text
    assert "Nobody matches that search." in settings_page.visitor.get(f"{settings_page.path}?q=nobody").text
    form = settings_page.visitor.get(settings_page.path).forms["people"]
    form.set("user", True)
    assert "1 member is removed." in form.submit(name="do", value="remove").follow().text
    assert not board.members_among([acme.carol.id])
    form = settings_page.visitor.get(settings_page.path).forms["add"]
    form["email"] = "dora@example.com"
    form.submit(name="do", value="add")
    assert acme.account.invitations.get().site_ids == [board.id]
    [letter] = mail.outbox
    assert letter.subject.endswith("invites you to Board")


def test_pending_people_are_let_in_and_denied(acme, board, settings_page):
    users = [make_user(acme.account, f"waiting{number}") for number in range(30)]
    ForumMember.objects.bulk_create(
        [ForumMember(account=acme.account, forum_id=board.id, user_id=user.id, state="pending") for user in users]
    )
    page = settings_page.visitor.get(f"{settings_page.path}?tab=pending")
    assert len(page.html.select("#people li")) == 25
    assert "waiting4" in settings_page.visitor.get(f"{settings_page.path}?tab=pending&page=2").text
    assert "Members&nbsp;(30)" in settings_page.visitor.get("/app/account/forums").text
    path = f"{settings_page.path}?tab=pending"
    form = page.forms["people"]
    for index in range(2):
        form.set("user", True, index)
    assert "2 people are members now." in form.submit(name="do", value="approve").follow().text
    form = settings_page.visitor.get(path).forms["people"]
    form.set("user", True, 0)
    page = form.submit(name="do", value="deny").follow()
    assert "1 person can't enter the forum." in page.html.select_one("#messages").get_text()
    for act, left in (("deny_all", 0), ("approve_all", 0)):
        settings_page.visitor.post(path, {"do": act, "csrfmiddlewaretoken": token_of(settings_page.visitor, path)})
        assert acme.account.forum_members.pending().count() == left
    assert acme.account.forum_members.confirmed().count() == 2


def test_the_access_is_set_on_the_page_of_the_forum(acme, board):
    page, path = acme.page(acme.alice), f"/app/account/forums/{board.id}"
    view = make_saved_view(acme.alice, "Key accounts", shared=True)
    make_saved_view(acme.alice, "Searched", query="q=x", shared=True)
    make_saved_view(acme.alice, "Mine")
    form = page.get(path).forms["forum"]
    assert [text for _value, _selected, text in form["segment_id"].options] == ["None", "Key accounts"]
    form["access"], form["segment_id"], form["addresses"] = "segment", str(view.id), "partner.example\nann@example.com"
    assert form.submit().status_code == 303
    board.refresh_from_db()
    assert (board.access, board.segment_id) == ("segment", view.id)
    form = page.get(path).forms["forum"]
    assert form["addresses"].value.split() == ["ann@example.com", "partner.example"]
    form["access"], form["addresses"] = "list", "nonsense"
    response = form.submit(expect_errors=True)
    assert response.status_code == 422
    assert "“nonsense”, which is neither an e-mail nor a domain" in response.text
    form["access"], form["addresses"], form["segment_id"] = "segment", "", ""
    assert form.submit(expect_errors=True).status_code == 422
