from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register


class ConfigConfig(AppConfig):
    """The app of the checks of the settings, and of the management commands that use all rooms."""

    name = label = "config"


@register()
def check_settings(**kwargs: object) -> list[CheckMessage]:
    """Return the problems of the environment and of the settings derived from it, all together, each with a hint."""
    problems: list[CheckMessage] = [Error(problem, id="rostrum.E001") for problem in settings.ENVIRONMENT.problems]
    values = settings.ENVIRONMENT.values
    for name, advice in {
        "SECRET_KEY": "Make one with: python -c 'import secrets; print(secrets.token_urlsafe(48))'",
        "DATABASE_URL": "Write the address of a PostgreSQL database: postgresql://user:password@host:5432/name",
    }.items():
        if not values.get(name, "").strip():
            problems.append(Error(f"{name} is not set.", hint=advice, id="rostrum.E002"))
    if 0 < len(values.get("SECRET_KEY", "").strip()) < 32:
        problems.append(
            Error(
                "SECRET_KEY is shorter than 32 characters.", hint="Use 50 random characters or more.", id="rostrum.E003"
            )
        )
    if settings.MIDDLEWARE[0] != "accounts.hosts.middleware.AccountMiddleware":
        problems.append(
            Error("AccountMiddleware must come first: it is what checks the Host header.", id="rostrum.E004")
        )
    if settings.HTTPS and values.get("BASE_DOMAIN", "").strip() in ("", "localhost"):
        problems.append(
            Error(
                "BASE_DOMAIN is not set, and people reach the service by https.",
                hint="Write the domain that the accounts' addresses end in, or HTTPS=off on a laptop.",
                id="rostrum.E005",
            )
        )
    if settings.HTTPS and settings.EMAIL_BACKEND == "django.core.mail.backends.console.EmailBackend":
        problems.append(
            checks.Warning(
                "EMAIL_URL names no mail server: e-mails are written to the log, and its readers can use their links.",
                hint="Write its address: smtp://user:password@host:587/?tls=True",
                id="rostrum.W001",
            )
        )
    if settings.HTTPS and not settings.TRUST_PROXY:
        problems.append(
            checks.Warning(
                "HTTPS is pages and TRUST_PROXY is off: every request seems to use http, so all pages are redirected to https, endlessly."
                if settings.HTTPS_FOR_PAGES_ONLY
                else "HTTPS is on and TRUST_PROXY is off: every request seems to use http, so all are redirected to https, endlessly.",
                hint="Write TRUST_PROXY=forwarded, once the proxy in front sets the header Forwarded (docs/operating.md).",
                id="rostrum.W002",
            )
        )
    return problems
