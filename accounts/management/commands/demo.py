import hashlib
import hmac
import shlex
from pathlib import Path

from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.core.management.base import BaseCommand
from django.db import transaction
from django.urls import reverse

from accounts.hosts import full_name
from accounts.management.story import Story
from accounts.models import Account, APIToken, User


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
        parser.add_argument(
            "--bare", action="store_true", help="with a few suggestions alone, as in the examples of docs/interface.md"
        )

    def handle(self, *, port: int, env: Path | None = None, bare: bool = False, **options):
        password = derive("demo password", 16)
        token = f"{derive('demo token', APIToken.SECRET_LENGTH)}/{self.PREFIX}"
        account = Account.objects.filter(prefix=self.PREFIX).first() or self.make(password, token, bare=bare)
        owner = account.users.get(login_key=self.LOGIN)
        variables = {"BASE_URL": f"http://localhost:{port}", "PASSWORD": password, "API_TOKEN": token}
        if not check_password(password, owner.password):
            password = "(changed since)"  # noqa: S105
            del variables["PASSWORD"]
        if APIToken.objects.holding(token) is None:
            token = "(revoked since)"  # noqa: S105
            del variables["API_TOKEN"]
        self.explain(account, owner, port, password, token)
        if env:
            self.keep(env, variables)

    @transaction.atomic
    def make(self, password: str, token: str, *, bare: bool) -> Account:
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
        story = Story(account, owner)
        story.begin()
        if not bare:
            story.go_on()
        return account

    def explain(self, account: Account, owner: User, port: int, password: str, token: str) -> None:
        at = f"http://localhost:{port}"
        own = f"http://{full_name(account.prefix)}:{port}/"
        hosts = {host.id: full_name(host.name) for host in account.hosts.all()}
        addresses = [
            (forum.name, f"{at}/  and  {own}" if forum.is_default else f"http://{hosts[forum.host_id]}:{port}/")
            for forum in account.forums.order_by("-is_default", "name", "id")
        ]
        # Those that were made with it have the same password.
        others = account.users.filter(password=owner.password, is_active=True).exclude(id=owner.id).order_by("id")
        logins = [f"{user.login} ({user.get_role_display().lower()})" for user in (owner, *others)]
        lines = [
            *addresses[:10],
            ("settings", at + reverse("accounts-account")),
            ("API", f"{at}{reverse('accounts-tokens')}  and  {at}{reverse('core-docs')}"),
            ("logins", ", ".join(logins)),
            ("password", password),
            ("api_token", token),
        ]
        table = "\n".join(f"  {name:<16} {value}" for name, value in lines)
        self.stdout.write(
            f"""
Rostrum is up.

{table}

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
