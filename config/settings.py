"""The settings, read from the environment. `README.md` lists the variables, and a test compares the two."""

import sys
from pathlib import Path
from typing import Any

import dj_email_url
from csp.constants import NONE, SELF
from whitenoise.compress import Compressor

from config.environment import (
    Environment,
    address_ranges,
    boolean,
    bucket,
    database,
    domain,
    fraction,
    http_url,
    https_mode,
    networks,
    number,
    one_of,
    prefix,
    proxy_mode,
    sentry_dsn,
    socket_address,
)


def _parse_email_url(url: str) -> dict[str, object]:
    try:
        email_settings: dict[str, object] = dj_email_url.parse(url)
    except ValueError:
        email_settings = {}
    if "EMAIL_BACKEND" not in email_settings:
        # The message does not repeat the value, which may contain a password.
        raise ValueError("write an address such as smtp://user:password@host:587/?tls=True")
    return email_settings


ENVIRONMENT = Environment()
_read = ENVIRONMENT.read
_count, _port = number(minimum=0), number(minimum=1, maximum=65535)

VERSION = "0.1.0"
BASE_DIR = Path(__file__).resolve().parent.parent

# Production needs these three settings. `config.apps` reports those that are not set.
SECRET_KEY = _read("SECRET_KEY", "", "The secret key for signatures; at least 50 random characters.")
BASE_DOMAIN = _read(
    "BASE_DOMAIN", "localhost", "The domain of all accounts: the account acme has the address acme.BASE_DOMAIN.", domain
)
OPERATOR_ACCOUNT = _read(
    "OPERATOR_ACCOUNT",
    "",
    "The prefix of the operator's own account. Its owners, signed in with a second factor, use the console of operators there.",
    prefix,
)
FORUM_DOMAINS = _read(
    "FORUM_DOMAINS",
    "proven",
    "Which domains of forums count: `proven` ones, or with `trusted` all, because only the operator adds domains.",
    one_of("proven", "trusted"),
)
_database = _read("DATABASE_URL", "", "The address of the PostgreSQL database, version 15 or later.", database) or {}
DATABASE_POOLER = _read(
    "DATABASE_POOLER",
    "off",
    "Set to on if DATABASE_URL is the address of PgBouncer. It does not pass on session settings, so set them for the role.",
    boolean,
)

_https = _read(
    "HTTPS",
    "on",
    "Set to on if people and clients reach the service by https; with `pages`, API clients may use plain http too.",
    https_mode,
)
HTTPS = _https != "off"
# Clients of an older server send requests to http://, and a redirect would lose the body of a POST.
HTTPS_FOR_PAGES_ONLY = _https == "pages"
TRUST_PROXY = _read(
    "TRUST_PROXY",
    "off",
    "The header of a proxy with the client's address and scheme: forwarded, x-forwarded, or off; see docs/operating.md.",
    proxy_mode,
)
TLS_ASK_ADDRESSES = _read(
    "TLS_ASK_ADDRESSES",
    "127.0.0.0/8,::1",
    "The addresses of proxies that may ask at /internal/tls whether a host of the service needs a certificate.",
    address_ranges,
)
_mail = _read(
    "EMAIL_URL",
    "console:",
    "The mail server, such as smtp://user:password@host:587/?tls=True. By default, e-mails are written to the log.",
    _parse_email_url,
)
DEFAULT_FROM_EMAIL = _read("EMAIL_FROM", "Rostrum <noreply@localhost>", "The sender of e-mails.")
EMAIL_BACKEND, EMAIL_HOST, EMAIL_PORT = _mail["EMAIL_BACKEND"], _mail["EMAIL_HOST"], _mail["EMAIL_PORT"]
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail["EMAIL_HOST_USER"] or "", _mail["EMAIL_HOST_PASSWORD"] or ""
EMAIL_USE_TLS, EMAIL_USE_SSL = _mail["EMAIL_USE_TLS"], _mail["EMAIL_USE_SSL"]
# The directory to which e-mails are written if EMAIL_URL is a `file:` URL, as in `make run`.
EMAIL_FILE_PATH = _mail.get("EMAIL_FILE_PATH") or None
# In seconds, for a mail server that does not answer.
EMAIL_TIMEOUT = _mail["EMAIL_TIMEOUT"] or 10
FILES_DIR = _read(
    "FILES_DIR", "", "The directory of stored files, which all processes share; needed without FILES_URL."
)
FILES_S3 = _read(
    "FILES_URL",
    "",
    "A bucket for stored files in place of FILES_DIR, such as s3://key:secret@bucket?endpoint=https://s3.example.com&region=eu.",
    bucket,
)
FILES_QUOTA = _read("FILES_QUOTA", "10000000000", "The bytes of stored files of each account.", _count)
_level = one_of("DEBUG", "INFO", "WARNING", "ERROR")
LOG_LEVEL = _read("LOG_LEVEL", "INFO", "The lowest level that is logged: DEBUG, INFO, WARNING or ERROR.", _level)
LOG_QUERIES = _read(
    "LOG_QUERIES",
    "off",
    "Set to on to log personal data in query strings: the values of q, email and external ids.",
    boolean,
)
LOG_FORMAT = _read(
    "LOG_FORMAT", "text", "The format of the log: text, or json for one object per line.", one_of("text", "json")
)
SLOW_STATEMENT_MS = _read(
    "SLOW_STATEMENT_MS",
    "0",
    "Statements that take longer than this number of milliseconds are logged, without their values; 0 for none.",
    _count,
)
METRICS_ADDRESS = _read(
    "METRICS_ADDRESS",
    "",
    "The address for metrics in the format of Prometheus, such as 127.0.0.1:9100. By default there are none.",
    socket_address,
)
OTEL_EXPORTER_OTLP_ENDPOINT = _read(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "",
    "The collector to which traces are sent by OTLP over HTTP, such as http://collector:4318. By default there are none.",
    http_url,
)
OTEL_TRACES_SAMPLER_ARG = _read(
    "OTEL_TRACES_SAMPLER_ARG", "0.01", "The part of the requests that are traced, from 0 to 1.", fraction
)
SENTRY_DSN = _read(
    "SENTRY_DSN", "", "The project of Sentry to which errors are sent, without data of requests.", sentry_dsn
)
STATEMENT_TIMEOUT = _read(
    "STATEMENT_TIMEOUT", "15", "The number of seconds after which the database cancels a statement.", number(minimum=1)
)
RATE_LIMIT = _read(
    "RATE_LIMIT", "600", "The requests that each token or user may make per minute; 0 for no limit.", _count
)
FAILED_LOGIN_LIMIT = _read(
    "FAILED_LOGIN_LIMIT",
    "60",
    "The failed logins per hour for each user and each client address; 0 for no limit.",
    _count,
)
ACCOUNT_LIMIT = _read(
    "ACCOUNT_LIMIT", "10", "The accounts that each partner may create per minute; 0 for no limit.", _count
)
SIGN_UP = _read(
    "SIGN_UP",
    "closed",
    "Who creates accounts at BASE_DOMAIN: everyone (`open`), people with an `invitation` of the operator, or nobody (`closed`).",
    one_of("open", "invitation", "closed"),
)
SIGN_UP_LIMIT = _read(
    "SIGN_UP_LIMIT",
    "20",
    "The accounts that visitors may create per hour; further ones are suspended until a review. 0 for no limit.",
    _count,
)
_reachable = "Private networks and further ports that webhooks may reach; for example 10.0.0.0/8:8080."
WEBHOOK_ALLOW = _read("WEBHOOK_ALLOW", "", _reachable, networks) or ()
EMAIL_LIMIT_PER_ADDRESS = _read(
    "EMAIL_LIMIT_PER_ADDRESS",
    "30",
    "The e-mails with notifications per hour to each address; further ones are delayed. 0 for no limit.",
    _count,
)
EMAIL_LIMIT_PER_ACCOUNT = _read(
    "EMAIL_LIMIT_PER_ACCOUNT",
    "5000",
    "The e-mails with notifications or messages to customers per hour of each account; further ones are delayed. 0 for no limit.",
    _count,
)
INVITATION_LIMIT = _read(
    "INVITATION_LIMIT", "100", "The invitations that each account may send per hour; 0 for no limit.", _count
)
INVITATION_LIMIT_OF_NEW_ACCOUNTS = _read(
    "INVITATION_LIMIT_OF_NEW_ACCOUNTS",
    "20",
    "The invitations that an account may send per hour in its first week; 0 for no limit.",
    _count,
)

# Defaults for the arguments of `serve`.
PORT = _read("PORT", "8000", "The port to listen on.", _port)
HOST = _read("HOST", "127.0.0.1", "The address to listen on.")
PUBLIC_PORT = _read(
    "PUBLIC_PORT",
    "",
    "The port in printed addresses and in links of e-mails, if people reach the service at a port other than 443 or 80.",
    _port,
)
WORKERS = _read("WORKERS", "", "The number of worker processes.", number(minimum=1, maximum=256))
_wait = "The number of seconds that a starting service waits for its database."
DATABASE_WAIT = _read("DATABASE_WAIT", "60", _wait, number(minimum=0, maximum=3600))

DEBUG = False

# AccountMiddleware, the first middleware, checks hosts against the database. A system check requires that it is the first.
ALLOWED_HOSTS = ["*"]

# The prefix of the account that answers on localhost and 127.0.0.1. Only `make run` sets it.
LOCAL_ACCOUNT = ENVIRONMENT.values.get("LOCAL_ACCOUNT")

# The rooms, from the lowest to the highest.
ROOMS = ["core", "accounts", "forum", "crm", "webhooks", "team"]
INSTALLED_APPS = [
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "drf_spectacular_sidecar",
    "rest_framework",
    "config",
    *ROOMS,
]

MIDDLEWARE = [
    "accounts.hosts.middleware.AccountMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # After the static files: a browser requests many of them at a time.
    "accounts.hosts.middleware.RequestShareMiddleware",
    "accounts.sessions.middleware.PagesMiddleware",
    "accounts.second_factor.middleware.SecondFactorMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
# PagesMiddleware calls these, for pages only.
PAGE_MIDDLEWARE = [
    "forum.forums.requests.forum_middleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "config.urls"
# Routes of upper rooms to which lower rooms link. Lower rooms know only these settings.
HOME_URL = "forum-home"
# The template that pages of a lower room extend.
PAGE_TEMPLATE = "accounts/layout/base.html"
LOGIN_URL = "accounts-sign-in"
TOKENS_URL = "accounts-tokens"
DOCS_URL = "accounts-docs"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.jinja2.Jinja2",
        "OPTIONS": {
            "environment": "core.pages.templates.environment",
            "context_processors": ["core.pages.templates.csrf", "django.contrib.messages.context_processors.messages"],
        },
    }
]
# Django's templates of form fields, in the same language as those of the pages.
FORM_RENDERER = "django.forms.renderers.Jinja2"

# Settings of every database session. With a pooler, ALTER ROLE has to set them; `core.db.checks` compares them.
DATABASE_SESSION = {
    "statement_timeout": f"{STATEMENT_TIMEOUT}s",
    "idle_in_transaction_session_timeout": "60s",
    # The similarity of words that the correction of typing errors accepts (`core.search.spelling`): one wrong letter in five.
    "pg_trgm.similarity_threshold": "0.3",
    # PostgreSQL would compile statements on large tables, which takes longer than these short statements themselves.
    "jit": "off",
    # Random reads cost hardly more than sequential ones, in memory or on an SSD. With this value PostgreSQL also prefers generic
    # plans, so prepared statements are planned once.
    "random_page_cost": "1.1",
}

_session_options = " ".join(f"-c {name}={value}" for name, value in DATABASE_SESSION.items())

# Parameters of DATABASE_URL override the options above them.
DATABASES = {
    "default": {
        **_database,
        "ENGINE": "config.database",
        # Django's health check is off: the first query of a request reconnects if the connection is lost (`core.db.prepared`).
        "CONN_MAX_AGE": 600,
        "OPTIONS": {
            # In seconds, for each address of each host.
            "connect_timeout": 5,
            # The kernel detects a server that disappeared within 15 to 25 seconds. Requests have a shorter limit (`config.database`),
            # but migrations have none.
            "keepalives": 1,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 15_000,
            # Of several hosts, use the one that accepts writes.
            **({"target_session_attrs": "read-write"} if "," in _database.get("HOST", "") else {}),
            "application_name": "rostrum",
            **_database.get("OPTIONS", {}),
            **({} if DATABASE_POOLER else {"options": _session_options}),
            # Parameters are sent separately, so that PostgreSQL does not log them with a failing statement.
            "server_side_binding": True,
        },
        # Such cursors outlive their transaction, and a pooler may use another connection for the next one.
        "DISABLE_SERVER_SIDE_CURSORS": DATABASE_POOLER,
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# The model of the tenant, to which the rows of the other models belong.
ACCOUNT_MODEL = "accounts.Account"
AUTH_USER_MODEL = "accounts.User"
PASSWORD_HASHERS = ["accounts.sessions.passwords.Argon2idPasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("login", "email", "name")},
    },
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "accounts.sessions.passwords.BreachedPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("pl", "Polski")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True

# The container image and `make run` collect the static files, compressed and with a hash in their names. Otherwise, as in the tests,
# they are served from the source directories.
STATIC_URL = "/static/"
# The static files of each subject: `forum/posts/list.js` is the file `forum/posts/static/list.js`.
STATICFILES_DIRS = [
    (path.parent.relative_to(BASE_DIR).as_posix(), path)
    for room in ROOMS
    for path in sorted((BASE_DIR / room).glob("*/static"))
]
_static = Path(ENVIRONMENT.values.get("STATIC_ROOT") or BASE_DIR / "static")
STATIC_COLLECTED = (_static / "staticfiles.json").exists() or sys.argv[1:2] == ["collectstatic"]
STATIC_ROOT = _static if STATIC_COLLECTED else None
WHITENOISE_USE_FINDERS = not STATIC_COLLECTED
_package = "core.pages.static_files" if STATIC_COLLECTED else "django.contrib.staticfiles.storage"
STORAGES = {"staticfiles": {"BACKEND": f"{_package}.StaticFilesStorage"}}
# Only developer tools load source maps. To compress them would take longer than to compress all other files.
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = (*Compressor.SKIP_COMPRESS_EXTENSIONS, "map")

# Limits of one worker process (`config/wsgi.py`): the number of requests that it answers at a time. Accounts and users have shares of
# them (`core.limits.request_shares`). When none of them has ended for SLOT_TIMEOUT seconds, further requests are rejected.
REQUEST_THREADS, SLOT_TIMEOUT = 4, 3
# The number of streamed responses at a time, each of which occupies a further thread.
MAX_STREAMS = 2
THREADS = REQUEST_THREADS + MAX_STREAMS
# The number of open connections. Those beyond it wait in the kernel. It has to stay below the usual limit of 1,024 open files.
MAX_CONNECTIONS = 512

# A longer body is refused before it is read.
MAX_BODY_BYTES = 1024 * 1024
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
# A view with `max_body_bytes` takes longer bodies of forms (`config.uploads`). Their files are written to the disk as they arrive.
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.TemporaryFileUploadHandler"]

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
# Cookies belong to one host, never to a domain that tenants share. Browsers accept this prefix over https only.
COOKIE_PREFIX = "__Host-" if HTTPS else ""
CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}csrf"
CSRF_FAILURE_VIEW = "core.pages.base.csrf_failure"
MESSAGE_STORAGE = "accounts.sessions.cookies.Messages"
# How long a link to reset a password is valid, in seconds.
PASSWORD_RESET_TIMEOUT = 24 * 3600
# Pages load scripts and styles from their own host only, submit forms to it only, and cannot be framed.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "manifest-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
SECURE_SSL_REDIRECT = _https == "on"
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
# HSTS for subdomains and preload lists apply to whole domains, and a forum may have a host in a customer's domain.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
X_FRAME_OPTIONS = "DENY"

REST_FRAMEWORK = {
    "EXCEPTION_HANDLER": "core.error_responses.handle_exception",
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "core.http.formats.SingleFormatNegotiation",
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "core.openapi.schema.JSONOperationSchema",
    "UNAUTHENTICATED_USER": None,
    # For the views of the Account API. The views of the Forum API and public views set their own classes.
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.tokens.authentication.TokenAuthentication",
        "accounts.sessions.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["accounts.roles.permissions.IsTeam"],
    "DEFAULT_THROTTLE_CLASSES": ["core.http.throttling.CallerThrottle"],
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Rostrum",
    "VERSION": VERSION,
    "DESCRIPTION": (
        "A hosted suggestion forum and CRM. The **Account API (JSON)** takes an `api_token`, at any host of the account and at the "
        "host of the service. The **Forum API (XML)** takes HTTP Basic credentials, at the host of a forum.\n\n"
        "The suffix of a path selects the format. HEAD is supported wherever GET is. A method that a path does not support is answered "
        "with 405. Unknown and read-only fields are ignored, and so are unknown parameters of lists.\n\n"
        "With an `api_token`, the Account API (JSON) also accepts forms in bracket notation (`client[name]=Ann`), parameters in the body of "
        "GET and DELETE requests, PUT, PATCH or DELETE sent as POST (`_method` or `X-HTTP-Method-Override`), and bodies in gzip."
    ),
    "OAS_VERSION": "3.1.0",
    "SERVERS": [{"url": "/"}],
    "POSTPROCESSING_HOOKS": [],
    "SCHEMA_PATH_PREFIX": "/",
}

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "core.logs.RedactingFormatter",
            "format": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        },
        "json": {"()": "core.logs.JSONFormatter"},
    },
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": "json" if LOG_FORMAT == "json" else "line"}
    },
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        # Django's own handlers would bypass the redaction, or send e-mails.
        "django": {"handlers": [], "level": LOG_LEVEL, "propagate": True},
        "django.server": {"handlers": [], "level": LOG_LEVEL, "propagate": True},
        # At DEBUG, this logger would log the whole context of a template, with personal data, for each missing variable.
        "django.template": {"level": "INFO"},
        # The access log has every refused request already.
        "django.request": {"level": "ERROR"},
        # The service answers these errors with 400 or 413. Django would also log a traceback.
        "django.security.RequestDataTooBig": {"level": "CRITICAL"},
        "django.security.TooManyFieldsSent": {"level": "CRITICAL"},
        "django.security.TooManyFilesSent": {"level": "CRITICAL"},
    },
}
