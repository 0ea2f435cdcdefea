"""The page of a suggestion."""

from forum.comments.models import Comment
from forum.posts import pages
from forum.posts.models import Post
from forum.votes.models import Vote
from tests.support.factories import make_client, make_forum, make_post, make_task, make_user
from tests.support.pages import Visitor, path_of_post
from tests.support.reading import make_for_customers, make_private, make_unapproved


def write(post: Post, by, **values) -> None:
    post.write(values, by=by)


def test_it_works(acme):
    post = make_post(acme.carol, "A dark theme", content="So that *one* can read\n\n- at night", tags=["vip"])
    comment = post.comment(by=acme.bob, text="**Good** idea.")
    post.comment(by=acme.carol, text="Thanks")
    post.vote(by=acme.bob)
    planned = acme.account.statuses.get(kind="post", code="planned")
    write(post, acme.bob, status=planned, response="For _spring_.")
    page = acme.page().get(f"/app/posts/{post.id}")
    html = page.html
    assert html.title.text == "A dark theme · Acme"
    assert html.h1.text == "A dark theme"
    [content, response, first, second] = html.select(".prose")
    assert content.decode_contents().strip() == ("<p>So that <em>one</em> can read</p>\n<ul>\n<li>at night</li>\n</ul>")
    assert response.decode_contents().strip() == "<p>For <em>spring</em>.</p>"
    assert html.select_one(".official .meta").text.split() == ["Planned", "Bob", "Nowak", "just", "now"]
    assert [first.text.strip(), second.text.strip()] == ["Good idea.", "Thanks"]
    assert html.select_one(f"#comment-{comment.id} .badge").text == "Team"
    assert len(html.select(".comment .badge")) == 1
    assert html.find("h2", string="Who votes").find_next("p").text.split() == ["1", "vote"]
    assert [" ".join(item.text.split()) for item in html.select(".timeline li")] == [
        "Suggested Carol Member, just now",
        "Planned Bob Nowak, just now",
    ]
    assert html.find("link", rel="canonical")["href"] == f"http://{acme.host}{path_of_post(post)}"
    metadata = {
        tag.get("property") or tag.get("name"): tag["content"] for tag in html.find_all("meta") if tag.get("content")
    }
    assert metadata["description"] == metadata["og:description"] == "So that one can read at night"
    assert metadata["og:title"] == "A dark theme"
    assert metadata["og:url"] == f"http://{acme.host}{path_of_post(post)}"


def test_a_post_without_votes_comments_and_response(acme):
    for kind, expected in (("error", ["New", "Bug"]), ("suggestion", ["New"])):
        post = make_post(acme.carol, "Just a title", kind=kind)
        page = acme.page().get(f"/app/posts/{post.id}")
        assert "Nobody yet." in page
        assert "0 comments" in page
        assert "Official response" not in page
        for shown in (page, acme.page().get("/")):
            badges = shown.html.select_one("article").select(".badge")
            assert [badge.text.strip() for badge in badges] == expected


def test_it_rejects_invisible_posts(acme):
    private_post, unapproved_post, task = make_private(acme.alice), make_unapproved(acme.alice), make_task(acme.alice)
    trashed, elsewhere = make_post(acme.alice), make_post(acme.alice, forum_id=make_forum(acme.account, "ideas").id)
    trashed.trash(by=acme.alice)
    for post in (private_post, unapproved_post):
        for user in (None, acme.carol):
            assert "There is nothing here" in acme.page(user).get(f"/app/posts/{post.id}", status=404)
        assert post.title in acme.page(acme.bob).get(f"/app/posts/{post.id}")
    alice = acme.page(acme.alice)
    for id in (task.id, trashed.id, elsewhere.id, 10**15, 10**30):
        alice.get(f"/app/posts/{id}", status=404)
    assert elsewhere.title in Visitor("ideas.example.org").get(f"/app/posts/{elsewhere.id}")


def test_authors_see_their_private_and_waiting_posts(acme):
    private_post, unapproved_post = make_private(acme.carol), make_unapproved(acme.carol)
    assert acme.page(acme.carol).get(f"/app/posts/{private_post.id}").html.select(".badge")[1].text.strip() == "Private"
    assert "Waiting for approval" in acme.page(acme.carol).get(f"/app/posts/{unapproved_post.id}")


def test_older_rows_without_rendered_texts(acme):
    post = make_post(acme.alice, content="*one*", response="*two*")
    post.comment(by=acme.alice, text="*three*")
    Post.objects.update(content_html=None, response_html=None)
    Comment.objects.update(comment_html=None)
    page = acme.page().get(f"/app/posts/{post.id}")
    assert [part.em.text for part in page.html.select(".prose")] == ["one", "two", "three"]


def test_pages_of_comments(acme, monkeypatch):
    monkeypatch.setattr(pages, "COMMENTS_PER_PAGE", 2)
    post = make_post(acme.alice)
    for number in range(5):
        post.comment(by=acme.carol, text=f"Number {number}")

    def texts(page):
        return [part.text.strip() for part in page.html.select(".comment .prose")]

    path = path_of_post(post)
    page = acme.page().get(path)
    assert texts(page) == ["Number 0", "Number 1"]
    newest = page.click("To the newest ones")
    assert texts(newest) == ["Number 4"]
    assert newest.html.find("link", rel="canonical")["href"] == f"http://{acme.host}{path}?page=3"
    assert texts(acme.page().get(f"{path}?page=last")) == ["Number 4"]
    assert texts(newest.click("Previous")) == ["Number 2", "Number 3"]
    for page_number in ("0", "4", "abc", "-1"):
        acme.page().get(f"{path}?page={page_number}", status=404)


def test_the_list_of_voters_is_shortened(acme):
    post = make_post(acme.alice)
    Vote.objects.bulk_create(
        Vote(account=acme.account, post_id=post.id, user_id=make_user(acme.account, name=f"Voter {number:02}").id)
        for number in range(22)
    )
    Post.objects.update(votes_cache=22)
    text = " ".join(acme.page(acme.bob).get(f"/app/posts/{post.id}").html.text.split())
    assert "Voter 00, Voter 01," in text
    assert "Voter 19 and 2 more" in text
    # The team also sees customers among the voters, up to the same number.
    for number in range(12):
        post.cast_proxy_vote(by=acme.bob, client_id=make_client(acme.alice, f"Client {number:02}").id)
    text = " ".join(acme.page(acme.bob).get(f"/app/posts/{post.id}").html.text.split())
    assert "Voter 09, Client 00, Client 01," in text
    assert "Client 09 and 14 more" in text


def test_names_of_voters_are_for_the_team_and_by_consent(acme):
    post = make_post(acme.alice)
    dora, eve, finn = (make_user(acme.account, name=name) for name in ("Dora Voter", "Eve Voter", "Finn Voter"))
    for user in (dora, eve, finn):
        post.vote(by=user)
    duplicate = make_post(acme.alice)
    duplicate.vote(by=make_user(acme.account, name="Gus Voter"))
    duplicate.merge_into(post, by=acme.bob)

    def shown_to(user) -> str:
        # The names are nowhere else on the page, in the feed or in the lists.
        for path in ("/", "/app/feed.atom", "/app/roadmap"):
            assert "Voter" not in acme.page(user).get(path)
        page = acme.page(user).get(f"/app/posts/{post.id}")
        section = page.html.find("h2", string="Who votes").parent
        text = " ".join(section.text.split()).removeprefix("Who votes ")
        section.extract()
        assert "Voter" not in page.html.text
        return text

    for user in (None, acme.carol):
        assert shown_to(user) == "4 votes"
    for user in (acme.bob, acme.alice):
        assert shown_to(user) == "Dora Voter, Eve Voter, Finn Voter, Gus Voter"
    eve.change(shows_votes=True)
    for user in (None, acme.carol):
        assert shown_to(user) == "Eve Voter and 3 more"
    eve.change(shows_votes=False)
    assert shown_to(acme.carol) == "4 votes"


def test_names_of_customers_are_only_for_the_team(acme):
    post, post_for_contact = make_for_customers(acme.bob)
    post.vote(by=acme.carol)
    post.cast_proxy_vote(by=acme.bob, client_id=make_client(acme.alice, "Cli Ent").id)
    for user in (None, acme.carol):
        page, listed = acme.page(user).get(f"/app/posts/{post.id}"), acme.page(user).get("/")
        assert "on behalf of a customer" in page
        assert listed.text.count("on behalf of a customer") == 2
        assert "Who votes 2 votes" in " ".join(page.html.text.split())
        assert not any(name in each for name in ("Cli Ent", "Ann Client", "Con Tact") for each in (page, listed))
    bob = acme.page(acme.bob)
    page, listed = bob.get(f"/app/posts/{post.id}"), bob.get("/")
    assert "on behalf of Ann Client" in page.html.article.get_text()
    assert "Carol Member, Cli Ent" in page.html.text
    assert "on behalf of Con Tact" in bob.get(f"/app/posts/{post_for_contact.id}")
    assert "Bob Nowak on behalf of Ann Client," in listed.html.text
    assert "on behalf of Con Tact" in listed


def test_a_merged_post_keeps_its_text_and_leads_to_the_original(acme):
    original = make_post(acme.alice, "Original")
    duplicate = make_post(acme.carol, "Duplicate", content="As **I** said")
    duplicate.merge_into(original, by=acme.bob)
    path = f"/app/posts/{duplicate.id}"
    for user in (None, acme.carol, acme.bob):
        stub = acme.page(user).get(path)
        assert (stub.html.h1.text, stub.html.select_one(".prose strong").text) == ("Duplicate", "I")
        assert "Carol Member" in stub.html.article.get_text()
        assert stub.html.find("link", rel="canonical")["href"].endswith(path_of_post(original))
        page = stub.click("Original")
        assert page.html.h1.text == "Original"
        assert "“Duplicate” was merged into this suggestion." in page
        [merged] = page.html.select(".merged li")
        assert (merged.summary.text, merged.blockquote.p.text) == ("Duplicate", "As I said")
        assert merged.a["href"].partition("?")[0] == path_of_post(duplicate)
    # Only the team may open the whole page of the merged post.
    assert "merged into:" in acme.page(acme.carol).get(f"{path}?original=0")
    page = page.click(href="original=0")
    assert page.html.h1.text == "Duplicate"
    assert page.html.select_one(".notice a")["href"] == path_of_post(original)
    assert page.html.select_one(".notice a").text == "Original"
    # The message appears only if that post was really merged.
    assert "was merged into" not in acme.page().get(f"/app/posts/{original.id}?from=1")


def test_it_rejects_readers_of_a_merged_post_who_could_not_read_it(acme):
    original, dora = make_post(acme.alice, "Original", private=True), make_user(acme.account, "dora")
    closed, opened = (make_post(acme.carol, title, private=title == "Closed") for title in ("Closed", "Open"))
    for duplicate in (closed, opened):
        duplicate.merge_into(original, by=acme.bob)
    for user in (None, dora):
        acme.page(user).get(f"/app/posts/{closed.id}", status=404)
        page = acme.page(user).get(f"/app/posts/{opened.id}")
        assert "This suggestion was merged into another one." in page
        assert "Original" not in page
    assert "Original" not in acme.page(acme.carol).get(f"/app/posts/{closed.id}")


def test_the_vote_of_the_user_is_marked(acme):
    post = make_post(acme.alice)
    post.vote(by=acme.carol)
    for user, pressed in ((None, "false"), (acme.carol, "true"), (acme.bob, "false")):
        for path in (f"/app/posts/{post.id}", "/"):
            assert acme.page(user).get(path).html.select_one(".vote button")["aria-pressed"] == pressed
