from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register


class ConfigConfig(AppConfig):
    """The app of the checks of the settings, and of the management commands that use all rooms."""

    name = label = "config"

    def ready(self) -> None:
        # Models can be imported from now on.
        from config import archives, monitoring

        archives.register()
        monitoring.register()


@register()
def check_settings(**kwargs: object) -> list[CheckMessage]:
    """Return the problems of the environment and of the settings derived from it, all together, each with a hint."""
    problems: list[CheckMessage] = [Error(problem, id="rostrum.E001") for problem in settings.ENVIRONMENT.problems]
    values = {name: value.strip() for name, value in settings.ENVIRONMENT.values.items()}
    if not values.get("SECRET_KEY"):
        hint = "Make one with: python -c 'import secrets; print(secrets.token_urlsafe(48))'"
        problems.append(Error("SECRET_KEY is not set.", hint=hint, id="rostrum.E002"))
    if not values.get("DATABASE_URL"):
        hint = "Write the address of a PostgreSQL database: postgresql://user:password@host:5432/name"
        problems.append(Error("DATABASE_URL is not set.", hint=hint, id="rostrum.E002"))
    if not (values.get("FILES_DIR") or values.get("FILES_URL")):
        hint = "Write a directory that all processes share, or the address of a bucket in FILES_URL."
        problems.append(Error("FILES_DIR is not set.", hint=hint, id="rostrum.E002"))
    if 0 < len(values.get("SECRET_KEY", "")) < 32:
        problem, hint = "SECRET_KEY is shorter than 32 characters.", "Use 50 random characters or more."
        problems.append(Error(problem, hint=hint, id="rostrum.E003"))
    if settings.MIDDLEWARE[0] != "accounts.hosts.middleware.AccountMiddleware":
        problem = "AccountMiddleware must come first: it is what checks the Host header."
        problems.append(Error(problem, id="rostrum.E004"))
    if settings.HTTPS and values.get("BASE_DOMAIN", "") in ("", "localhost"):
        problem = "BASE_DOMAIN is not set, and people reach the service by https."
        hint = "Write the domain that the accounts' addresses end in, or HTTPS=off on a laptop."
        problems.append(Error(problem, hint=hint, id="rostrum.E005"))
    if settings.HTTPS and settings.EMAIL_BACKEND == "django.core.mail.backends.console.EmailBackend":
        problem = "EMAIL_URL names no mail server: e-mails are written to the log, and its readers can use their links."
        hint = "Write its address: smtp://user:password@host:587/?tls=True"
        problems.append(checks.Warning(problem, hint=hint, id="rostrum.W001"))
    if settings.HTTPS and not settings.TRUST_PROXY:
        mode, redirected = ("pages", "all pages") if settings.HTTPS_FOR_PAGES_ONLY else ("on", "all")
        seems = "every request seems to use http"
        problem = (
            f"HTTPS is {mode} and TRUST_PROXY is off: {seems}, so {redirected} are redirected to https, endlessly."
        )
        hint = "Write TRUST_PROXY=forwarded, once the proxy in front sets the header Forwarded (docs/operating.md)."
        problems.append(checks.Warning(problem, hint=hint, id="rostrum.W002"))
    return [*problems, *(_find_risks() if settings.HTTPS else ())]


def _find_risks() -> Iterator[CheckMessage]:
    """Yield warnings of settings that are valid, and let strangers see or do more than the operator may expect."""
    if settings.SIGN_UP == "open" and not settings.SIGN_UP_LIMIT:
        problem = "SIGN_UP is open and SIGN_UP_LIMIT is 0: robots can create any number of accounts."
        yield checks.Warning(problem, hint="Write the accounts that you expect in a busy hour.", id="rostrum.W003")
    if any(network.prefixlen == 0 for network in settings.TLS_ASK_ADDRESSES):
        problem = "TLS_ASK_ADDRESSES contains all addresses: everybody can find out which hosts have accounts."
        yield checks.Warning(problem, hint="Write the addresses of your proxies only.", id="rostrum.W004")
    if settings.METRICS_ADDRESS and _is_public(settings.METRICS_ADDRESS[0]):
        problem = "METRICS_ADDRESS is a public address, and metrics have no password."
        yield checks.Warning(problem, hint="Write an address of a private network.", id="rostrum.W005")
    if settings.METRICS_ADDRESS and settings.METRICS_ADDRESS[1] == settings.PORT:
        problem = "METRICS_ADDRESS has the port of the web server, so that only one of the two can listen."
        yield checks.Warning(problem, hint=f"Write another port than {settings.PORT}.", id="rostrum.W006")
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "SENTRY_DSN"):
        url = urlsplit(getattr(settings, name))
        if url.scheme == "http" and _is_public(url.hostname or ""):
            problem = f"{name} sends what happens in the service over the internet without encryption."
            yield checks.Warning(problem, hint="Write an address that starts with https://.", id="rostrum.W007")


def _is_public(host: str) -> bool:
    """Return whether a host seems to be outside of the operator's networks: by its address, or by its name (RFC 6762, RFC 8375)."""
    try:
        return ip_address(host).is_global
    except ValueError:
        return "." in host and not f".{host}".endswith((".local", ".internal", ".localhost", ".home.arpa"))
