import hashlib
import hmac
import shlex
from pathlib import Path

from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.core.management.base import BaseCommand
from django.db import transaction

from accounts.models import Account, APIToken


def derive(purpose: str, length: int) -> str:
    """A secret of the demo account, worked out from the server's key: it is in no database, and the same after a restart."""
    digest = hmac.digest(settings.SECRET_KEY.encode(), purpose.encode(), hashlib.sha512)
    return "".join(APIToken.ALPHABET[byte % len(APIToken.ALPHABET)] for byte in digest[:length])


class Command(BaseCommand):
    help = "Make the demo account on the first run, and print how to use it. For `make run`, on one's own machine."

    PREFIX = LOGIN = "demo"

    def add_arguments(self, parser):
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--env", type=Path, help="a file for the address, the password and the token")

    def handle(self, *, port: int, env: Path | None = None, **options):
        password = derive("demo password", 16)
        token = f"{derive('demo token', APIToken.SECRET_LENGTH)}/{self.PREFIX}"
        account = Account.objects.filter(prefix=self.PREFIX).first() or self.make(password, token)
        owner = account.users.get(login_key=self.LOGIN)
        variables = {"BASE_URL": f"http://localhost:{port}", "PASSWORD": password, "API_TOKEN": token}
        if not check_password(password, owner.password):
            password = "(changed since)"  # noqa: S105
            del variables["PASSWORD"]
        if APIToken.objects.holding(token) is None:
            token = "(revoked since)"  # noqa: S105
            del variables["API_TOKEN"]
        self.explain(port, password, token)
        if env:
            self.keep(env, variables)

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

    def keep(self, env: Path, variables: dict[str, str]) -> None:
        """Write what the examples of the documents need, for a shell to read."""
        env.unlink(missing_ok=True)
        env.touch(mode=0o600)
        env.write_text("".join(f"{name}={value}\n" for name, value in variables.items()))
        self.stdout.write(
            f"""
For the examples of the documents, this sets {", ".join(variables)}:

  . {shlex.quote(str(env))}
"""
        )
