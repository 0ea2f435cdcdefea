"""The comparison of the sort keys of posts with the posts."""

from accounts.account.models import Account
from forum.posts.sort_keys import find_differing


def assert_sort_keys_are_correct() -> None:
    """Assert that the sort keys of all accounts equal the columns of the live posts."""
    for account in Account.objects.all():
        assert find_differing(account.id) == [], account
