"""The plans of the pages of a category's list. tests/test_fast_reads.py compares their posts with a simple implementation."""

from datetime import UTC, datetime

import pytest
from django.db import connection

from accounts.users.models import User
from forum.categories.models import Category
from forum.posts.models import Post
from tests.support.queries import capture_parameters, explained

NOON = datetime(2009, 2, 2, 12, tzinfo=UTC)


def fill(user: User, category: Category, number: int, **values) -> None:
    """Create posts with the same time, a thousand per statement."""
    common_values = {
        "category_id": category.id,
        "forum_id": category.forum_id,
        "account_id": user.account_id,
        "user_id": user.id,
    }
    common_values |= {"status_id": user.account.default_status("post").id, "created_at": NOON, **values}
    Post.objects.bulk_create((Post(title=str(n), **common_values) for n in range(number)), batch_size=1000)


# The index that each order reads.
INDEXES = {
    "new": "post_by_age",
    "old": "post_by_age",
    "top": "sort_key_by_votes",
    "commented": "sort_key_by_comments",
    "active": "sort_key_by_activity",
}
# The most rows that one plan node may read, for each page.
MAX_ROWS = {1: 60, 2: 110, 20: 1100, 100: 5200, 240: 6000, 300: 6000}


@pytest.mark.django_db(transaction=True)
def test_it_works(acme):
    fill(acme.alice, acme.category, 6000)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE forum_post, forum_postsortkey")
    client = acme.xml()
    bad_nodes = []
    for page_number, max_rows in MAX_ROWS.items():
        status = acme.account.default_status("post").code
        for order in (*INDEXES, status) if page_number < 3 else ("new", "old", status):
            path, indexes = f"/?page={page_number}&order={order}", set()
            for sql, parameters in capture_parameters(lambda path=path: client.get(path))[1]:
                for node in explained(sql, parameters, []):
                    rows = node["Actual Rows"] * node["Actual Loops"] + node.get("Rows Removed by Filter", 0)
                    indexes.add(node.get("Index Name"))
                    if node.get("Relation Name") in ("forum_post", "forum_postsortkey") and (
                        "Index" not in node["Node Type"] or rows > max_rows
                    ):
                        bad_nodes.append((path, node["Node Type"], rows, sql))
            assert page_number > 2 or order == status or INDEXES[order] in indexes, path
    assert not bad_nodes, "\n".join(map(str, bad_nodes))
