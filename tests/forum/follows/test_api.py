"""Following a suggestion as JSON."""

from tests.support.assertions import assert_answered, assert_refused
from tests.support.factories import make_post


def path(post) -> str:
    return f"/app/posts/{post.id}/follow.json"


def test_it_works(acme):
    post = make_post(acme.carol)

    def choices() -> list[tuple[int, bool]]:
        return list(acme.account.follows.filter(user_id=acme.bob.id).values_list("post_id", "is_following"))

    for _ in range(2):
        assert_answered(acme.json().post(path(post)), 200, "ok")
        assert choices() == [(post.id, True)]
    for _ in range(2):
        assert_answered(acme.json().delete(path(post)), 200, "ok")
        assert choices() == [(post.id, False)]


def test_it_rejects_trashed_and_merged_posts(acme):
    trashed, merged, original = make_post(acme.bob), make_post(acme.bob), make_post(acme.bob)
    trashed.trash(by=acme.bob)
    merged.merge_into(original, by=acme.bob)
    for method in ("POST", "DELETE"):
        assert_refused(acme.json().request(method, path(trashed)), 404, "not_found")
        response = acme.json().request(method, path(merged))
        assert_refused(response, 422, "validation_failed", {"post": [f"was merged into post {original.id}"]})
