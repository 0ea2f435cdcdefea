"""One settings file, driven by the environment. `README.md` lists the variables; a test compares the two."""

import sys
from pathlib import Path

import dj_email_url
from csp.constants import NONE, SELF

from config.environment import Environment, boolean, database, domain, https_mode, number


def _email(url: str) -> dict:
    try:
        found = dj_email_url.parse(url)
    except ValueError:
        found = {}
    if "EMAIL_BACKEND" not in found:
        # What was given is not repeated: it may hold a password.
        raise ValueError("write an address such as smtp://user:password@host:587/?tls=True")
    return found


ENVIRONMENT = Environment()
_read = ENVIRONMENT.read

VERSION = "0.1.0"
BASE_DIR = Path(__file__).resolve().parent.parent

# The three that production cannot do without; `accounts.checks` reports the ones that are missing.
SECRET_KEY = _read("SECRET_KEY", "", "The key that signs and authenticates; 50 random characters or more.")
BASE_DOMAIN = _read("BASE_DOMAIN", "localhost", "The domain under which every account has its address.", domain)
_database = _read("DATABASE_URL", "", "The address of the PostgreSQL database, version 15 or later.", database) or {}
DATABASE_POOLER = _read(
    "DATABASE_POOLER",
    "off",
    "Whether DATABASE_URL leads to PgBouncer, which takes no settings of a session: the role has to have them.",
    boolean,
)

_https = _read(
    "HTTPS",
    "on",
    "Whether people and clients reach the service by https; with `pages`, clients may use plain http as well.",
    https_mode,
)
HTTPS = _https != "off"
# Clients of an older server send their requests to http://, and a POST that is redirected is lost.
HTTPS_FOR_PAGES_ALONE = _https == "pages"
TRUST_PROXY = _read(
    "TRUST_PROXY",
    "off",
    "Whether a proxy in front sets X-Forwarded-For and X-Forwarded-Proto; without one, clients could forge them.",
    boolean,
)
_mail = _read(
    "EMAIL_URL",
    "console:",
    "The mail server: smtp://user:password@host:587/?tls=True. By default e-mails are written to the log.",
    _email,
)
DEFAULT_FROM_EMAIL = _read("EMAIL_FROM", "Rostrum <noreply@localhost>", "Whom e-mails are from.")
EMAIL_BACKEND, EMAIL_HOST, EMAIL_PORT = _mail["EMAIL_BACKEND"], _mail["EMAIL_HOST"], _mail["EMAIL_PORT"]
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail["EMAIL_HOST_USER"] or "", _mail["EMAIL_HOST_PASSWORD"] or ""
EMAIL_USE_TLS, EMAIL_USE_SSL = _mail["EMAIL_USE_TLS"], _mail["EMAIL_USE_SSL"]
# So that a mail server that does not answer keeps nobody waiting for long.
EMAIL_TIMEOUT = _mail["EMAIL_TIMEOUT"] or 10
LOG_LEVEL = _read(
    "LOG_LEVEL",
    "INFO",
    "The lowest level logged: DEBUG, INFO, WARNING or ERROR.",
    lambda text: (
        {level: level for level in ("DEBUG", "INFO", "WARNING", "ERROR")}.get(text.upper())
        or (_ for _ in ()).throw(ValueError("write DEBUG, INFO, WARNING or ERROR"))
    ),
)
LOG_QUERIES = _read(
    "LOG_QUERIES",
    "off",
    "Whether the log may hold personal data in queries: the values of q, email and external ids.",
    boolean,
)
STATEMENT_TIMEOUT = _read(
    "STATEMENT_TIMEOUT", "15", "After how many seconds the database gives up a statement.", number(minimum=1)
)
RATE_LIMIT = _read(
    "RATE_LIMIT", "600", "How many requests a minute each token or user may make; 0 for no limit.", number(minimum=0)
)
FAILED_LOGIN_LIMIT = _read(
    "FAILED_LOGIN_LIMIT",
    "60",
    "How many failed logins an hour each login and each address may have; 0 for no limit.",
    number(minimum=0),
)
ACCOUNT_LIMIT = _read(
    "ACCOUNT_LIMIT", "10", "How many accounts a minute each partner may make; 0 for no limit.", number(minimum=0)
)

# What `serve` goes by where its arguments say nothing else.
PORT = _read("PORT", "8000", "Where to listen.", number(minimum=1, maximum=65535))
HOST = _read("HOST", "127.0.0.1", "The address to listen at.")
PUBLIC_PORT = _read(
    "PUBLIC_PORT",
    "",
    "The port in links of e-mails, if people reach the service at another port than their scheme's own (443 or 80).",
    number(minimum=1, maximum=65535),
)
WORKERS = _read("WORKERS", "", "How many worker processes serve.", number(minimum=1, maximum=256))
DATABASE_WAIT = _read(
    "DATABASE_WAIT",
    "60",
    "For how many seconds a starting service waits for its database.",
    number(minimum=0, maximum=3600),
)

DEBUG = False

# Hosts are checked against the database, and before anything else, by AccountMiddleware; a system check holds it first.
ALLOWED_HOSTS = ["*"]

# Set by `make run` alone: the prefix of the account that localhost and 127.0.0.1 stand for.
LOCAL_ACCOUNT = ENVIRONMENT.values.get("LOCAL_ACCOUNT")

INSTALLED_APPS = [
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "drf_spectacular_sidecar",
    "rest_framework",
    "core",
    "accounts",
    "forum",
    "crm",
]

MIDDLEWARE = [
    "accounts.middleware.AccountMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "accounts.pages.middleware.PagesMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
# Within PagesMiddleware, for pages alone.
PAGE_MIDDLEWARE = [
    "csp.middleware.CSPMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "config.urls"
# Routes that lower rooms lead to without knowing whose they are.
HOME_URL = "forum-home"
LOGIN_URL = "accounts-sign-in"
TOKENS_URL = "accounts-tokens"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": [
                "django.templatetags.i18n",
                "django.templatetags.static",
                "core.templatetags.rostrum",
                "accounts.templatetags.statuses",
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

# What each session has to be set to: through a pooler by ALTER ROLE, of which `core.db.checks` makes sure.
DATABASE_SESSION = {
    "statement_timeout": f"{STATEMENT_TIMEOUT}s",
    "idle_in_transaction_session_timeout": "60s",
    # How alike words must be to be taken for each other (`core.search.spelling`): those of five with one other letter.
    "pg_trgm.similarity_threshold": "0.3",
    # Statements are short, but those on a large table are thought dear enough to be compiled, which takes longer.
    "jit": "off",
    # A page of an index is as near as any other: in memory, or on a disk without a head to be moved. What is prepared is
    # planned once, as its plan is then thought to cost little beside planning.
    "random_page_cost": "1.1",
}

# The address may change what comes before its own parameters.
DATABASES = {
    "default": {
        **_database,
        "ENGINE": "config.database",
        # Not tried out before each request: what is asked first makes a lost one again (`core.db.prepared`).
        "CONN_MAX_AGE": 600,
        "OPTIONS": {
            # For each address of each host.
            "connect_timeout": 5,
            # A server that is gone without a word is noticed by the kernel within 15 to 25 seconds. Statements of requests have a
            # limit of their own (`config.database`), but a migration waits for as long as it takes.
            "keepalives": 1,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 15_000,
            # Of several hosts, the one that takes writes.
            **({"target_session_attrs": "read-write"} if "," in _database.get("HOST", "") else {}),
            "application_name": "rostrum",
            **_database.get("OPTIONS", {}),
            **(
                {}
                if DATABASE_POOLER
                else {"options": " ".join(f"-c {name}={value}" for name, value in DATABASE_SESSION.items())}
            ),
            # Values travel apart from the statement, so that the database's log of a failing one holds none of them.
            "server_side_binding": True,
        },
        # They outlive their transactions, and the next one may be on another connection of the pooler's.
        "DISABLE_SERVER_SIDE_CURSORS": DATABASE_POOLER,
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# The tenant: what every row of the other models belongs to.
ACCOUNT_MODEL = "accounts.Account"
AUTH_USER_MODEL = "accounts.User"
PASSWORD_HASHERS = ["accounts.passwords.Argon2idPasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("login", "email", "name")},
    },
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("pl", "Polski")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True

# An image holds the static files collected, compressed and under names with their hash; `make run` collects them beside its
# data. Where that was not done, as in the tests, they are served from where they are.
STATIC_URL = "/static/"
_static = Path(ENVIRONMENT.values.get("STATIC_ROOT") or BASE_DIR / "static")
STATIC_COLLECTED = (_static / "staticfiles.json").exists() or sys.argv[1:2] == ["collectstatic"]
STATIC_ROOT = _static if STATIC_COLLECTED else None
WHITENOISE_USE_FINDERS = not STATIC_COLLECTED
_storage = (
    "whitenoise.storage.CompressedManifestStaticFilesStorage"
    if STATIC_COLLECTED
    else "django.contrib.staticfiles.storage.StaticFilesStorage"
)
STORAGES = {"staticfiles": {"BACKEND": _storage}}

# What one worker process does at a time (`config/admission.py`): answer so many requests, each with a connection to the
# database; have so many, those that wait for that included, and for so long; and turn away the rest.
TURNS, PLACES, PATIENCE_SECONDS = 4, 48, 5
# Of the places, those in which a body may be read at a time; and those in which one of the same address may.
BODIES, BODIES_OF_ONE = 36, 24
# How long a client may take to send a body: 1 MiB at the pace of a slow phone, 28 kbit/s.
BODY_SECONDS = 300
# And for the headers, or with none of them on a connection that is kept open. The server has this deadline of its own.
HEADER_SECONDS = 30
# Threads beyond the places turn away: fast enough that all connections which a worker may have are through in less than a
# second, as /healthz may be behind them; no faster, as that is strength for nothing.
CLIENT_CONNECTIONS = 512
TURNING_AWAY, REFUSAL_SECONDS = 8, 0.03
THREADS = PLACES + TURNING_AWAY

# A body of more is refused before it is read (decisions, section 5).
MAX_BODY_BYTES = 1024 * 1024
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
# Of one host alone, never of a domain that tenants share; browsers take the prefix by https alone.
COOKIE_PREFIX = "__Host-" if HTTPS else ""
CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}csrf"
CSRF_FAILURE_VIEW = "core.pages.base.csrf_failure"
MESSAGE_STORAGE = "accounts.pages.cookies.Messages"
# For how many seconds a link to set another password is good.
PASSWORD_RESET_TIMEOUT = 24 * 3600
# Pages hold no script, style or form of others, and are framed by none.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
SECURE_SSL_REDIRECT = _https == "on"
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUST_PROXY else None
# HSTS for subdomains and browsers' preload lists are promises about whole domains, and a forum may live on a customer's.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
X_FRAME_OPTIONS = "DENY"

REST_FRAMEWORK = {
    "EXCEPTION_HANDLER": "core.api.errors.handle",
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "core.api.negotiation.SuffixDecides",
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "core.openapi.schema.JSONOperationSchema",
    "UNAUTHENTICATED_USER": None,
    # Those of the JSON interface; the XML interface and public views name their own.
    "DEFAULT_AUTHENTICATION_CLASSES": ["accounts.authentication.Token", "accounts.authentication.SignedIn"],
    "DEFAULT_PERMISSION_CLASSES": ["accounts.permissions.Team"],
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Rostrum",
    "VERSION": VERSION,
    "DESCRIPTION": (
        "A suggestion forum and CRM for many tenants. Generation A is the forum: XML, at the forum's own host, behind HTTP "
        "Basic. Generation B is the account: JSON, behind an `api_token`, at any host of the account or the service's own.\n\n"
        "A path's suffix decides the format. HEAD is answered wherever GET is; another method that a path does not take is "
        "405. Fields that are unknown or read-only are ignored, and so are parameters that a list does not know.\n\n"
        "Generation B also takes forms in bracket notation (`client[name]=Ann`), parameters in the body of a GET or DELETE, another "
        "method in the place of POST (`_method` or `X-HTTP-Method-Override`: PUT, PATCH or DELETE), and bodies in gzip; each with an "
        "`api_token` only."
    ),
    "OAS_VERSION": "3.1.0",
    "SERVERS": [{"url": "/"}],
    "POSTPROCESSING_HOOKS": [],
    "SCHEMA_PATH_PREFIX": "/",
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "core.logs.RedactingFormatter",
            "format": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        },
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        # The handlers that Django gives these would write past the redaction, or send mail.
        "django": {"handlers": [], "level": LOG_LEVEL, "propagate": True},
        "django.server": {"handlers": [], "level": LOG_LEVEL, "propagate": True},
        # Every refusal is in the access log already.
        "django.request": {"level": "ERROR"},
        # These are answered 400 or 413 and would have a traceback here.
        "django.security.RequestDataTooBig": {"level": "CRITICAL"},
        "django.security.TooManyFieldsSent": {"level": "CRITICAL"},
        "django.security.TooManyFilesSent": {"level": "CRITICAL"},
    },
}
