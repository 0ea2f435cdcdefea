"""The demo account of `make run`, with the content of account.toml and crm.toml spread over the last two years."""

import hashlib
import hmac

from django.conf import settings
from django.db import transaction

from accounts.account.models import Account
from accounts.account_creation.creation import create_account
from accounts.tokens.models import APIToken
from config.demo.builder import DemoBuilder
from config.demo.crm import CRMBuilder

PREFIX = LOGIN = "demo"


def demo_password() -> str:
    return _derived("demo password", 16)


def demo_token() -> str:
    return f"{_derived('demo token', APIToken.SECRET_LENGTH)}/{PREFIX}"


def _derived(purpose: str, length: int) -> str:
    """Return a secret that is derived from SECRET_KEY. It is not stored, and is the same after a restart."""
    digest = hmac.digest(settings.SECRET_KEY.encode(), purpose.encode(), hashlib.sha512)
    return "".join(APIToken.ALPHABET[byte % len(APIToken.ALPHABET)] for byte in digest[:length])


@transaction.atomic
def create_demo_account(*, bare: bool) -> Account:
    """Create the demo account. A bare account has only the suggestions that docs/interface.md shows."""
    account, owner, _token = create_account(
        prefix=PREFIX,
        name="Demo",
        login=LOGIN,
        email="demo@example.com",
        password=demo_password(),
        partner_key="demo-partner",
    )
    account.tokens.all().delete()
    APIToken.objects.make(owner, token=demo_token(), label="Demo")
    builder = DemoBuilder(account, owner)
    builder.add_first_posts()
    if not bare:
        builder.add_everything_else(lambda demo: CRMBuilder(demo).build())
    return account
