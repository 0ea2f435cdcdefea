import hashlib
import hmac

from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.core.management.base import BaseCommand
from django.db import transaction

from accounts.models import Account, APIToken


def derive(purpose: str, length: int) -> str:
    """A secret of the demo account, worked out from the server's key: it is stored nowhere, and the same after a restart."""
    digest = hmac.digest(settings.SECRET_KEY.encode(), purpose.encode(), hashlib.sha512)
    return "".join(APIToken.ALPHABET[byte % len(APIToken.ALPHABET)] for byte in digest[:length])


class Command(BaseCommand):
    help = "Make the demo account on the first run, and print how to use it. For `make run`, on one's own machine."

    PREFIX = LOGIN = "demo"

    def add_arguments(self, parser):
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *, port: int, **options):
        password = derive("demo password", 16)
        token = f"{derive('demo token', APIToken.SECRET_LENGTH)}/{self.PREFIX}"
        account = Account.objects.filter(prefix=self.PREFIX).first() or self.make(password, token)
        owner = account.users.get(login_key=self.LOGIN)
        if not check_password(password, owner.password):
            password = "(changed since)"  # noqa: S105
        if APIToken.objects.holding(token) is None:
            token = "(revoked since)"  # noqa: S105
        self.explain(port, password, token)

    @transaction.atomic
    def make(self, password: str, token: str) -> Account:
        account, owner, _ = Account.objects.create_with_owner(
            prefix=self.PREFIX,
            name="Demo",
            login=self.LOGIN,
            email="demo@example.com",
            password=password,
            partner_key="demo-partner",
        )
        account.tokens.all().delete()
        APIToken.objects.adopt(owner, token, label="Demo")
        self.fill(account, owner)
        return account

    def fill(self, account: Account, owner) -> None:
        """A few suggestions to look at."""
        forum = account.forums.get()
        category = account.categories.of_forum(forum.id).first()
        for title, content in (
            ("A dark theme", "So that one can read at night."),
            ("Export to a spreadsheet", "The list of orders, with the columns that one sees."),
            ("Reply by e-mail", "Answering a notification should add a comment."),
        ):
            post = account.posts.model(account=account, forum_id=forum.id, category_id=category.id, agent="demo")
            post.write({"title": title, "content": content}, by=owner)
        post.comment(by=owner, text="Planned for spring.", agent="demo")
        post.vote(by=owner)

    def explain(self, port: int, password: str, token: str) -> None:
        at = f"http://localhost:{port}"
        self.stdout.write(
            f"""
Rostrum is up.

  forum (XML)      {at}/  and  http://{self.PREFIX}.{settings.BASE_DOMAIN}:{port}/
  account (JSON)   {at}/app/…
  login            {self.LOGIN}
  password         {password}
  api_token        {token}

Try it:

  curl -u {self.LOGIN}:{password} {at}/

  curl '{at}/app/tasks.json?api_token={token.replace("/", "%2F")}'

  curl -H 'Content-Type: application/json' -d '{{"api_token":"{token}","client":{{"name":"Ann Kowalska","email":"ann@example.com"}}}}' {at}/app/clients.json
"""
        )
