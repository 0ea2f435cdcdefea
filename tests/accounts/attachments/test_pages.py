"""Sending files with forms, without JavaScript, and as `attachments.js` does."""

from webtest import Upload

from tests.support.factories import make_client, make_post, make_task
from tests.support.pictures import picture
from tests.support.settings import token_of

PNG = Upload("screen.png", picture(), "image/png")
TEXT = Upload("list.txt", b"one\ntwo", "text/plain")


def send(page, *files: Upload, status: int = 201):
    values = [("csrfmiddlewaretoken", token_of(page)), *(("files", file) for file in files)]
    return page.post("/app/attachments", values, status=status)


def names(account, **filters) -> list[str]:
    rows = account.attachments.filter(**filters).order_by("id")
    return list(rows.values_list("file__name", flat=True))


def test_it_works(acme):
    """A script sends a pasted picture, and puts the Markdown of the response into the text."""
    page = acme.page(acme.carol)
    response = send(page, PNG)
    attachment = acme.account.attachments.get()
    markdown = f"![screen.png](/app/attachments/{attachment.id}/screen.png)"
    assert response.json == {"id": attachment.id, "markdown": markdown}
    assert (attachment.row_id, attachment.user_id) == (None, acme.carol.id)


def test_it_rejects_what_cannot_be_stored(acme, settings):
    page = acme.page(acme.carol)
    damaged = Upload("a.png", picture()[:-40], "image/png")
    assert send(page, damaged, status=422).json == {"message": "File is damaged: it can't be read as a picture"}
    settings.FILES_QUOTA = 5
    assert send(page, TEXT, status=422).json == {
        "message": "File does not fit into the space for the files of the account (maximum is 0 MiB)"
    }
    assert send(page, status=400).json == {"message": ""}
    assert not acme.account.attachments.exists()
    assert acme.page().post("/app/attachments", {}, status=403)


def test_a_suggestion_with_files_and_without_javascript(acme):
    page = acme.page(acme.alice)
    form = page.get("/app/posts/new").forms["post-form"]
    form["title"], form["content"] = "With files", "See:"
    form["files"] = [PNG, TEXT]
    # The same form twice creates one suggestion.
    path = form.submit().location
    assert form.submit().location == path
    post = acme.account.posts.get(title="With files")
    assert names(acme.account, resource="post", row_id=post.id) == ["screen.png", "list.txt"]
    html = acme.page().get(path).html
    assert [image["alt"] for image in html.select(".prose img")] == ["screen.png"]
    assert [" ".join(item.get_text(" ").split()) for item in html.select(".files li")] == ["list.txt 1 kB"]
    # An edit that removes the picture from the text.
    form = page.get(f"/app/posts/{post.id}/edit").forms["post-form"]
    form["content"] = form["content"].value.replace("![screen.png]", "[gone](/x) <!-- ").split("[gone]")[0]
    form.submit()
    assert names(acme.account, resource="post") == []


def test_a_refused_file_does_not_lose_the_text(acme):
    page = acme.page(acme.alice)
    form = page.get("/app/posts/new").forms["post-form"]
    form["title"], form["content"] = "With a file", "See:"
    form["files"] = [Upload("a.png", picture()[:-40], "image/png")]
    response = form.submit().follow()
    assert "File is damaged: it can't be read as a picture" in response.html.text
    assert acme.account.posts.get(title="With a file").content == "See:"


def test_comments_responses_tasks_and_notes(acme):
    post, task, client = make_post(acme.carol), make_task(acme.bob), make_client(acme.bob)
    page = acme.page(acme.bob)
    form = page.get(f"/app/posts/{post.id}").forms["comment-form"]
    form["content"], form["files"] = "A comment", [PNG]
    form.submit()
    form = page.get(f"/app/posts/{post.id}/team").forms["status"]
    form["response"], form["files"] = "A response", [PNG]
    form.submit("do", value="status")
    form = page.get(f"/app/tasks/{task.id}").forms["new-comment"]
    form["comment"], form["files"] = "A comment", [PNG]
    form.submit("do", value="comment")
    form = page.get(f"/app/tasks/{task.id}/edit").forms["task"]
    form["files"] = [PNG]
    form.submit("do", value="save")
    form = page.get(f"/app/clients/{client.id}?compose=note").forms["composer"]
    form["content"], form["files"] = "A note", [PNG]
    form.submit("do", value="compose")
    note = acme.account.notes.get()
    form = page.get(f"/app/notes/{note.id}/edit").forms["note"]
    form["files"] = [TEXT]
    form.submit()
    comments = acme.account.comments.order_by("id").values_list("id", flat=True)
    found = acme.account.attachments.order_by("id").values_list("resource", "row_id", "part")
    assert list(found) == [
        ("comment", comments[0], ""),
        ("post", post.id, "response"),
        ("comment", comments[1], ""),
        ("post", task.id, ""),
        ("note", note.id, ""),
        ("note", note.id, ""),
    ]
    assert "list.txt" in page.get(f"/app/notes/{note.id}").html.select_one(".files").text


def test_the_files_of_a_record(acme):
    client = make_client(acme.bob)
    page = acme.page(acme.bob)
    path = f"/app/clients/{client.id}"
    form = page.get(path).forms["add-files"]
    form["files"] = [PNG, TEXT]
    response = form.submit("do", value="add_files").follow()
    panel = response.html.find("section", {"aria-labelledby": "files"})
    assert [link.get_text().strip() for link in panel.select("li a")] == ["screen.png", "list.txt"]
    [first, _second] = acme.account.attachments.order_by("id")
    page.post(path, {"do": "delete_file", "id": first.id, "csrfmiddlewaretoken": token_of(page)}, status=303)
    assert names(acme.account, resource="client", row_id=client.id) == ["list.txt"]
    # The file of another record is not deleted here.
    other = make_client(acme.bob)
    page.post(
        f"/app/clients/{other.id}",
        {"do": "delete_file", "id": _second.id, "csrfmiddlewaretoken": token_of(page)},
        status=303,
    )
    assert names(acme.account, resource="client", row_id=client.id) == ["list.txt"]


def test_merged_clients_keep_their_files(acme):
    kept, merged = make_client(acme.bob), make_client(acme.bob)
    page = acme.page(acme.bob)
    form = page.get(f"/app/clients/{merged.id}").forms["add-files"]
    form["files"] = [TEXT]
    form.submit("do", value="add_files")
    merge = {"merge": {"merged_client_id": merged.id}}
    response = acme.json().post(f"/app/clients/{kept.id}/merge.json", json=merge)
    assert names(acme.account, resource="client", row_id=kept.id) == ["list.txt"]
    assert acme.json().post(f"/app/merges/{response.json()['id']}/undo.json").status_code == 200
    assert names(acme.account, resource="client", row_id=merged.id) == ["list.txt"]
