"""Pages are in English and Polish; API responses are always in English."""

import gettext
from io import BytesIO
from json import dumps
from pathlib import Path

import django
import pytest
from babel.messages.mofile import write_mo
from django.utils import translation
from django.utils.translation import gettext_lazy

from accounts.statuses.models import Status
from core.errors import FieldError
from core.http.errors import envelope, xml_response
from core.pages.errors import error_sentence, field_labels, field_message
from tests.support.assertions import headers_of
from tests.support.examples import ROOT
from tests.support.tables import table
from tests.support.words import (
    disagreements,
    extract,
    fields_of_errors,
    literals_in_python,
    literals_in_template,
    make_catalogue,
    modules,
    parse,
    templates,
    untranslated,
    untranslated_errors,
)

RUN_MAKE_MESSAGES = "run `make messages`"
PO = ROOT / "locale" / "pl" / "LC_MESSAGES" / "django.po"


@pytest.fixture(scope="module")
def catalogue():
    return parse(PO.read_bytes())


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """Return the messages of code and templates, as `make messages` extracts them."""
    return extract(ROOT, tmp_path_factory.mktemp("messages") / "django.pot")


# The catalogue


def test_the_catalogue_contains_all_messages_of_code_and_templates(catalogue, collected):
    used, in_catalogue = ({(message.id, message.context) for message in each} for each in (collected, catalogue))
    assert used - in_catalogue == set(), f"not in the catalogue yet: {RUN_MAKE_MESSAGES}"
    assert in_catalogue - used == set(), f"in the catalogue, but no longer used: {RUN_MAKE_MESSAGES}"


def test_every_message_is_translated(catalogue):
    assert untranslated(catalogue) == [], f"translate these in {PO.relative_to(ROOT)}, then {RUN_MAKE_MESSAGES}"


def test_translations_agree_with_their_messages(catalogue):
    assert disagreements(catalogue) == []


def test_the_catalogue_is_compiled(catalogue):
    compiled = BytesIO()
    write_mo(compiled, catalogue)
    assert PO.with_suffix(".mo").read_bytes() == compiled.getvalue(), (
        f"not what the catalogue compiles to: {RUN_MAKE_MESSAGES}"
    )


def test_django_merges_the_catalogue_with_its_own():
    """Django merges only catalogues with the same plural forms."""
    folders = (PO.parents[2], Path(django.__file__).parent / "conf" / "locale")
    ours, djangos = (gettext.translation("django", folder, ["pl"]).info()["plural-forms"] for folder in folders)
    assert ours == djangos


def test_templates_contain_no_untranslated_words():
    found = {path: literals_in_template(path.read_text("utf-8"), markup=path.suffix != ".txt") for path in templates()}
    assert {path: literals for path, literals in found.items() if literals} == {}, (
        "put these in `_()` or {% trans %}; names that are not translated go into tests/support/words.py"
    )


def test_forms_and_messages_contain_no_untranslated_words():
    paths = [path for path in modules() if {"pages", "pages.py", "forms.py"} & {*path.relative_to(ROOT).parts}]
    found = {path: literals_in_python(path.read_text("utf-8")) for path in paths}
    assert {path: literals for path, literals in found.items() if literals} == {}, (
        "put these in gettext, or in gettext_lazy outside of requests"
    )


# Errors of models, which pages show translated

# Only API clients see the errors of these modules.
API_ONLY = {"accounts/roles/permissions.py", "core/rows/trash.py", "crm/resources/models.py"}
INTERFACES = {"api", "api.py", "http", "xml", "migrations", "management"}
# Pages show the errors of these serializers too.
SERIALIZERS = (
    "accounts/statuses/api.py",
    "accounts/users/api.py",
    "crm/clients/api.py",
    "crm/contacts/api/*.py",
    "crm/deals/api.py",
    "forum/posts/api.py",
)
MODULES_WITH_ERRORS = sorted(
    {
        *(path for path in modules() if not INTERFACES & {*path.relative_to(ROOT).parts}),
        *(path for pattern in SERIALIZERS for path in ROOT.glob(pattern)),
    }
    - {ROOT / name for name in API_ONLY}
)
SHARED_FIELDS = ROOT / "core" / "api" / "fields.py"


def test_messages_of_errors_are_translated():
    found = {path: untranslated_errors(path.read_text("utf-8")) for path in [*MODULES_WITH_ERRORS, SHARED_FIELDS]}
    assert {path: errors for path, errors in found.items() if errors} == {}, "put these in gettext_lazy"


def test_fields_of_errors_have_a_name():
    fields = set().union(*(fields_of_errors(path.read_text("utf-8")) for path in MODULES_WITH_ERRORS))
    assert {"post", "name", "status"} <= fields
    # The page of the form chooses the customer, in no field of that name. Only API clients send the others.
    missing = {field.removesuffix("_id") for field in fields} - field_labels().keys() - {"customer", "move_to"}
    assert missing == set(), "add these to `field_labels` in the module `apps` of the room"


def test_names_of_the_first_statuses_are_translated(catalogue):
    translated = {message.id for message in catalogue}
    assert {name for _kind, _code, name, *_ in Status.DEFAULTS} - translated == set()


MERGED = gettext_lazy("was merged into post {id}")


@table(
    ("error", "english", "polish"),
    [
        (
            FieldError("name", gettext_lazy("is already taken")),
            "Name is already taken",
            "Nazwa: ta wartość jest już zajęta",
        ),
        (
            FieldError("post", MERGED, "merged", {"id": 7}),
            "Post was merged into post 7",
            "Propozycja: została scalona z propozycją 7",
        ),
        (
            FieldError("client_id", "is {value}", params={"value": "5 {of} %s"}),
            "Client is 5 {of} %s",
            "Klient: is 5 {of} %s",
        ),
        # A field without a label in any app.
        (FieldError("bank_account", "is 5 {of} %s"), "Bank account is 5 {of} %s", "Bank account: is 5 {of} %s"),
    ],
)
def test_an_error_is_a_sentence_in_the_active_language(error, english, polish):
    assert error_sentence(error) == english
    with translation.override("pl"):
        assert error_sentence(error) == polish
        assert field_message(error) == polish.partition(": ")[2].capitalize()


def test_errors_of_the_apis_are_in_english():
    error = FieldError("duplicate_from_id", MERGED, "merged", {"id": 7}).move_into("post")
    with translation.override("pl"):
        assert error.text == "została scalona z propozycją 7"
        assert envelope(422, errors=[error]) == {
            "code": "validation_failed",
            "message": "Post duplicate from was merged into post 7",
            "errors": {"post.duplicate_from_id": ["was merged into post 7"]},
        }
        assert b"<error>Post duplicate from was merged into post 7</error>" in xml_response(422, errors=[error]).content
        assert translation.get_language() == "pl"


# Extraction

TEMPLATE = """
<h1>{{ _("Suggestions") }}</h1>
    {% if votes %}
  <p title="{{ pgettext("month", 'May') }}">
      {% trans votes=votes, name=voter.name %}
        One vote
        by {{ name }}
      {% pluralize %}
        {{ votes }} votes
        by {{ name }}
      {% endtrans %}
    {{ value|default(_("none"), true) }}
   {% endif %}
  {# Translators: of a page #}
  {% set title = _("Title") %}
"""
CODE = """
from django.utils.translation import gettext_lazy as _, ngettext_lazy, pgettext
label = _("Suggestions")
count = ngettext_lazy("%(n)d day", "%(n)d days", "n")
month = pgettext("month", "May")
long = _("one "
         "sentence")
"""


def test_messages_are_extracted_from_templates_and_code(tmp_path):
    files = {
        "babel.cfg": (ROOT / "babel.cfg").read_text(),
        "forum/lists/templates/list.html": TEMPLATE,
        "forum/lists/pages.py": CODE,
        "tests/test_pages.py": "_('In a test')",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    catalogue = extract(tmp_path, tmp_path / "django.pot")
    file_names = {
        (message.id, message.context): [name for name, _ in message.locations] for message in catalogue if message.id
    }
    template, code = "forum/lists/templates/list.html", "forum/lists/pages.py"
    assert file_names == {
        ("Suggestions", None): [code, template],
        ("May", "month"): [code, template],
        (("One vote by %(name)s", "%(votes)s votes by %(name)s"), None): [template],
        ("none", None): [template],
        ("Title", None): [template],
        (("%(n)d day", "%(n)d days"), None): [code],
        ("one sentence", None): [code],
    }
    assert catalogue.get("Title").auto_comments == ["of a page"]


# The checks themselves


@table(
    ("template", "expected"),
    [
        ("<p>Hello</p>", ["1: Hello"]),
        ("<p>\n  {{ name }},\n  hello\n</p>", ["3: hello"]),
        ("<p>{% if a %}yes{% endif %}</p>", ["1: yes"]),
        ("<p>{{ count }} &eacute;</p>", ["1: é"]),
        ("{#\nnote\n#}<b>Żółw</b>", ["3: Żółw"]),
        ("{% trans %}\nthis\n{% endtrans %} that", ["3: that"]),
        ('<a title="Help" href="/help">?</a>', ['1: title="Help"']),
        ('<img alt="A cat"><input placeholder="E-mail">', ['1: alt="A cat"', '1: placeholder="E-mail"']),
        ('<nav aria-label="Main {{ x }}"></nav>', ['1: aria-label="Main "']),
        ('<optgroup label="Open"></optgroup>', ['1: label="Open"']),
        ('<meta name="description" content="A forum">', ['1: content="A forum"']),
        ('<meta property="og:title" content="A forum">', ['1: content="A forum"']),
        ('<input type="submit" value="Save">', ['1: value="Save"']),
        ('<b data-confirm="Delete?" data-note="are you sure"></b>', ['1: data-confirm="Delete?"', '1: data-note="are you sure"']),
        ('<button hx-confirm="Sure?"></button>', ['1: hx-confirm="Sure?"']),
        ('<svg aria-label="Logo"></svg>', ['1: aria-label="Logo"']),
        ("<code>GET</code> or", ["1: or"]),
        ("<code>{% if a %}<code>{% endif %}</code> words", ["1: <code> is opened more often than closed"]),
        ('{{ name|default("nobody", true) }}', ["1: nobody"]),
        ('{{ "Literally" }}', ["1: Literally"]),
        ("{{ a or 'nothing' }}", ["1: nothing"]),
        ('{% with label="Save" %}{% include "button.html" %}{% endwith %}', ["1: Save"]),
        ("<feed><title>News</title><![CDATA[More]]></feed>", ["1: News", "1: More"]),
    ],
)  # fmt: skip
def test_it_finds_words_in_templates(template, expected):
    assert literals_in_template(template) == expected


@table(
    "template",
    [
        '<h1>{{ _("Sign in") }}</h1>',
        '<p>{% trans n=n %}One{% pluralize %}{{ n }} votes{% endtrans %}</p>',
        '<a title="{{ _("Help") }}" href="/help" class="button">→ 25 · {{ name }}</a>',
        "{# note #}<!-- note -->{#\nnote #}",
        "<script>let a</script><style>b {}</style><code>curl -u</code><svg><path d='M0'/></svg>",
        "<title>{% block title %}{% endblock %} – Rostrum</title> API, JSON &nbsp; English",
        '<input type="checkbox" value="yes" data-url="/posts" data-target="menu" name="title">',
        '<meta name="viewport" content="width=device-width">',
        '<?xml version="1.0"?><!DOCTYPE html><p class="{{ kind|default("plain", true) }}">{{ date|date("j F Y") }}</p>',
        '{% with label=_("Save"), kind="primary" %}{% include "button.html" %}{% endwith %}{{ name|default(_("nobody"), true) }}',
    ],
)  # fmt: skip
def test_it_ignores_translated_and_invisible_text_in_templates(template):
    assert literals_in_template(template) == []


def test_it_finds_words_in_text_templates():
    assert literals_in_template("{{ _('Hello') }}\n<see> {{ url }}\n", markup=False) == ["2: <see>"]


@table(
    "code",
    [
        "CharField(label='Title')",
        "CharField(help_text=f'At most {n}')",
        "ModelChoiceField(empty_label='None' if a else b)",
        "CharField(error_messages={'required': 'Say it'})",
        "ChoiceField(choices=[('a', 'First'), ('b', _('Second'))])",
        "TextInput(attrs={'placeholder': 'Search'})",
        "labels = {'title': 'Title'}",
        "self.fields['title'].label = 'Title'",
        "messages.success(request, 'Saved')",
        "messages.error(request, message='Not saved')",
        "messages.add_message(request, messages.INFO, 'Saved')",
        "messages.info(request, 'Saved %s' % name)",
        "messages.info(request, 'Saved {}'.format(name))",
        "messages.info(request, 'Saved ' + name)",
        "ValidationError('No')",
        "forms.ValidationError({'title': ['No']}, code='no')",
        "form.add_error('title', 'No')",
        "form.add_error(None, error='No')",
        "CharField(label=_(f'Title {n}'))",
    ],
)
def test_it_finds_words_in_python(code):
    [literal] = literals_in_python(f"\n{code}")
    assert literal.startswith("2: ")


@table(
    "code",
    [
        "CharField(label=_('Title'), help_text=gettext_lazy('At most %(n)s') % {'n': 'x'}, max_length=9)",
        "CharField(label='', widget=TextInput(attrs={'class': 'wide', 'placeholder': _('Search')}))",
        "CharField(label='API')",
        "ChoiceField(choices=[('a', _('First'))])",
        "messages.success(request, ngettext('%(n)s post', '%(n)s posts', n) % {'n': n})",
        "messages.success(request, _('Saved').format(name='x'))",
        "ValidationError(_('No'), code='invalid')",
        "form.add_error('title', _('No'))",
        "form.add_error('title', error)",
        "logger.error('It failed', label)",
        "title = 'Title'",
    ],
)
def test_it_ignores_calls_of_gettext(code):
    assert literals_in_python(code) == []


PLURAL = 'msgid "%(n)s vote"\nmsgid_plural "%(n)s votes"\n'


@table(
    "text",
    [
        'msgid "By %(name)s"\nmsgstr "Przez %(nazwa)s"',
        'msgid "By %(name)s"\nmsgstr "Przez"',
        'msgid "By %(name)s"\nmsgstr "Przez %(name) s"',
        'msgid "By {name}"\nmsgstr "Przez {}"',
        'msgid "%s of %s"\nmsgstr "%s"',
        'msgid "100%% %(sure)s"\nmsgstr "100% %(sure)s"',
        'msgid "<b>Sure</b>"\nmsgstr "<b>Pewne<b>"',
        PLURAL + 'msgstr[0] "%(n)s głos"\nmsgstr[1] "głosy"\nmsgstr[2] "%(n)s głosów"\nmsgstr[3] "%(n)s głosu"',
        PLURAL + 'msgstr[0] "%(n)s głos"\nmsgstr[1] "%(n)s głosy"\nmsgstr[2] "%(n)s głosów"\nmsgstr[3] "%(m)s głosu"',
    ],
)
def test_it_finds_translations_that_disagree(text):
    assert len(disagreements(make_catalogue(text))) == 1


def test_it_finds_a_missing_plural_form():
    existing = make_catalogue(PLURAL + 'msgstr[0] "%(n)s głos"\nmsgstr[1] "%(n)s głosy"')
    assert untranslated(existing) == ["not translated: ('%(n)s vote', '%(n)s votes')"]
    existing.get("%(n)s vote").string = ("%(n)s głos", "%(n)s głosy")
    assert disagreements(existing) == ["('%(n)s vote', '%(n)s votes') has 2 forms of 4"]


def test_it_ignores_translations_that_agree():
    text = (
        'msgid "By %(name)s, %(date)s"\nmsgstr "%(date)s, przez %(name)s"\n\n'
        'msgid "One vote"\nmsgid_plural "%(n)s votes"\n'
        'msgstr[0] "Jeden głos"\nmsgstr[1] "%(n)s głosy"\nmsgstr[2] "%(n)s głosów"\nmsgstr[3] "%(n)s głosu"\n\n'
        'msgid "Not yet"\nmsgstr ""\n'
    )
    assert disagreements(make_catalogue(text)) == []


# APIs

USER = "<user><login>a:b</login><email>x</email><password>1</password></user>"
CLIENT = {
    "name": [],
    "email": "x",
    "discount": "much",
    "external_ids": {"shop": ""},
    "tags": 5,
    "use_delivery_address": 7,
}
REJECTED_REQUESTS = {
    "json 401": ("alice", "GET", "/app/clients.json?api_token=other", {}, ""),
    "xml 403": ("carol", "POST", "/app/users.xml", {}, USER),
    "xml 404": ("alice", "GET", "/app/posts/1.xml", {}, ""),
    "xml 422, a user": ("alice", "POST", "/app/users.xml", {}, USER),
    "xml 422, a page": ("alice", "GET", "/app/posts.xml?page=0&order=x", {}, ""),
    "xml 422, a character": ("alice", "POST", "/app/posts.xml", {}, "<post><title>\x01</title></post>"),
    "json 400": ("alice", "POST", "/app/clients.json", {}, "{"),
    "json 403": ("bob", "POST", "/app/statuses.json", {}, '{"status": {"code": "x", "name": "X"}}'),
    "json 404": ("alice", "GET", "/app/clients/1.json", {}, ""),
    "json 422, a client": ("alice", "POST", "/app/clients.json", {}, dumps({"client": CLIENT})),
    "json 422, clients": (
        "alice",
        "POST",
        "/app/clients/bulk.json",
        {"X-Atomic": "true"},
        dumps({"clients": [CLIENT]}),
    ),
    "json 422, a post": ("alice", "POST", "/app/posts.json", {}, '{"post": {"task_kind": "x", "category_id": 999999}}'),
    "json 422, a status": ("alice", "POST", "/app/statuses.json", {}, '{"status": {"code": "x", "name": "New"}}'),
    "json 422, filters": ("alice", "GET", "/app/clients.json?updated_since=x&q=%2B&per_page=0", {}, ""),
    "json 422, strict": ("alice", "GET", "/app/clients.json?other=1", {"Prefer": "handling=strict"}, ""),
    "json 422, changes": ("alice", "GET", "/app/changes.json?since=x&limit=0", {}, ""),
}


@table("name", REJECTED_REQUESTS)
def test_api_responses_are_in_english(acme, name):
    """Neither Accept-Language nor the active language changes an API response."""
    login, method, path, headers, body = REJECTED_REQUESTS[name]
    format, status = name.partition(",")[0].split()
    client = acme.xml(getattr(acme, login)) if format == "xml" else acme.json(getattr(acme, f"{login}_token"))
    headers |= {"Content-Type": f"application/{format}"} if body else {}
    plain = client.request(method, path, content=body, headers=headers)
    assert plain.status_code == int(status), plain.text
    with translation.override("pl"):
        polish = client.request(method, path, content=body, headers=headers | {"Accept-Language": "pl"})
    assert polish.content == plain.content
    assert polish.content.isascii()
    assert (polish.status_code, headers_of(polish)) == (plain.status_code, headers_of(plain))
