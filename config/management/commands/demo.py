import hashlib
import hmac
import shlex
from pathlib import Path

from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.core.management.base import BaseCommand, CommandParser
from django.db import transaction
from django.urls import reverse

from accounts.account.models import Account
from accounts.account_creation.creation import create_account
from accounts.audit.origin import Interface, Origin, called_from
from accounts.hosts.names import front_url, full_name
from accounts.tokens.models import APIToken
from accounts.users.models import User
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
    names = {"prefix": PREFIX, "login": LOGIN, "name": "Demo", "email": "demo@example.com"}
    account, owner, _token = create_account(**names, password=demo_password(), partner_key="demo-partner")
    account.tokens.all().delete()
    APIToken.objects.make(owner, token=demo_token(), label="Demo")
    builder = DemoBuilder(account, owner)
    builder.add_first_posts()
    if not bare:
        builder.add_everything_else(lambda demo: CRMBuilder(demo).build())
    return account


class Command(BaseCommand):
    help = "Create the demo account on the first run, and print how to use it. `make run` calls this."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=settings.PORT, help="the port in the addresses (PORT)")
        parser.add_argument("--env", type=Path, help="write the address, the password and the token to this file")
        parser.add_argument(
            "--bare",
            action="store_true",
            help="add only the few suggestions that the examples of docs/interface.md use",
        )

    def handle(self, *, port: int, env: Path | None = None, bare: bool = False, **options: object) -> None:
        with called_from(Origin(Interface.COMMAND)):
            account = Account.objects.filter(prefix=PREFIX).first() or create_demo_account(bare=bare)
        owner = account.users.get(login_key=LOGIN)
        password, token = demo_password(), demo_token()
        variables = {"BASE_URL": f"http://localhost:{port}", "PASSWORD": password, "API_TOKEN": token}
        if not check_password(password, owner.password):
            password = "(changed since)"  # noqa: S105
            del variables["PASSWORD"]
        if APIToken.objects.find_by_token(token) is None:
            token = "(revoked since)"  # noqa: S105
            del variables["API_TOKEN"]
        self.explain(account, owner, port, password, token)
        if env:
            self.write_variables(env, variables)

    def explain(self, account: Account, owner: User, port: int, password: str, token: str) -> None:
        """Print the addresses, the logins and a few `curl` commands."""
        local_url = f"http://localhost:{port}"
        account_url = f"http://{full_name(account.prefix)}:{port}/"
        hosts = {host.id: full_name(host.name) for host in account.hosts.all()}
        addresses = [
            (
                forum.name,
                f"{local_url}/  and  {account_url}" if forum.is_default else f"http://{hosts[forum.host_id]}:{port}/",
            )
            for forum in account.forums.order_by("-is_default", "name", "id")
        ]
        # Demo users that can sign in were created with the owner's password hash.
        others = account.users.filter(password=owner.password, is_active=True).exclude(id=owner.id).order_by("id")
        logins = [f"{user.login} ({user.get_role_display().lower()})" for user in (owner, *others)]
        lines = [
            *addresses[:10],
            ("settings", local_url + reverse("accounts-account")),
            ("API", f"{local_url}{reverse('accounts-tokens')}  and  {local_url}{reverse('accounts-docs')}"),
            ("new accounts", front_url() + reverse("accounts-start")),
            ("logins", ", ".join(logins)),
            ("password", password),
            ("api_token", token),
        ]
        table = "\n".join(f"  {name:<16} {value}" for name, value in lines)
        self.stdout.write(
            f"""
Rostrum is running.

{table}

Try it:

  curl -u {owner.login}:{password} {local_url}/

  curl '{local_url}/app/tasks.json?api_token={token.replace("/", "%2F")}'

  curl -H 'Content-Type: application/json' -d '{{"api_token":"{token}","client":{{"name":"Ann Kowalska","email":"ann@example.com"}}}}' {local_url}/app/clients.json
"""
        )

    def write_variables(self, env: Path, variables: dict[str, str]) -> None:
        """Write the variables that the examples of the documents use to a file that only this user can read."""
        env.unlink(missing_ok=True)
        env.touch(mode=0o600)
        env.write_text("".join(f"{name}={value}\n" for name, value in variables.items()))
        self.stdout.write(
            f"""
To set {", ".join(variables)} in a shell, for the examples of the documents:

  . {shlex.quote(str(env))}
"""
        )
