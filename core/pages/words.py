"""The words of a refusal in the reader's language. Rules are made in English, as programs are answered with them too."""

import re
from functools import cache

from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_noop

from core.api.errors import Fault

# Rules of all rooms that are not marked where they are made, as most are told to programs alone.
RULES = (
    gettext_noop("can't be blank"),
    gettext_noop("can't be changed"),
    gettext_noop("can't be changed between a forum post and a task"),
    gettext_noop("can't be found"),
    gettext_noop("can't be given for a task"),
    gettext_noop("can't be given together with client_id"),
    gettext_noop("has a character that can't be used (a control character or half of a surrogate pair)"),
    gettext_noop("has a name with a comma"),
    gettext_noop("has no category"),
    gettext_noop("is already taken"),
    gettext_noop("is approved"),
    gettext_noop("is in another forum"),
    gettext_noop("is not a code of ISO 4217, such as EUR"),
    gettext_noop("is not a date (ISO 8601, such as 2009-01-26)"),
    gettext_noop("is not a number"),
    gettext_noop("is not a time (ISO 8601, such as 2009-01-26T18:06:53+01:00)"),
    gettext_noop("is not a whole number"),
    gettext_noop("is not an e-mail address"),
    gettext_noop("is not an id"),
    gettext_noop("is not merged into another"),
    gettext_noop("is not private, as the post is"),
    gettext_noop("is not true or false"),
    gettext_noop("is not valid"),
    gettext_noop("is the post itself"),
    gettext_noop("must be a list of ids"),
    gettext_noop("must be a list of names, or one text with commas"),
    gettext_noop("must be a single value"),
    gettext_noop("must be a text"),
    gettext_noop("must be an object"),
    gettext_noop("must be given, or else a contact_id"),
)
# Those with values in them.
PATTERNS = (
    gettext_noop("are too long (maximum is {most} characters in all)"),
    gettext_noop("are too many (maximum is {most})"),
    gettext_noop("has external ids of different clients ({ids})"),
    gettext_noop("has a name that is too long (maximum is {most} characters)"),
    gettext_noop("has too many ids (maximum is {most})"),
    gettext_noop("is not in forum {id}"),
    gettext_noop("is not one of {choices}"),
    gettext_noop("is that of another status than {code}"),
    gettext_noop("is too long (maximum is {most} characters)"),
    gettext_noop("must be between {low} and {high}"),
    gettext_noop("must have at most {most} decimal places"),
    gettext_noop("must have at most {most} digits before the decimal point"),
    gettext_noop("was given to contact list {id} meanwhile; rename that one first"),
    gettext_noop("was itself merged into post {id}"),
    gettext_noop("was merged into post {id}, which was merged into post {other}: undo that first"),
    gettext_noop("was merged into post {id}"),
    gettext_noop("{ids} can't be found"),
)
# What a sentence about a fault begins with, where it does not stand beside its field.
SUBJECTS = (
    gettext_noop("additional fields"),
    gettext_noop("address"),
    gettext_noop("category"),
    gettext_noop("client"),
    gettext_noop("code"),
    gettext_noop("color"),
    gettext_noop("comment"),
    gettext_noop("contact"),
    gettext_noop("content"),
    gettext_noop("duplicate from"),
    gettext_noop("email"),
    gettext_noop("forum"),
    gettext_noop("host"),
    gettext_noop("kind"),
    gettext_noop("login"),
    gettext_noop("name"),
    gettext_noop("order"),
    gettext_noop("post"),
    gettext_noop("request"),
    gettext_noop("responsible"),
    gettext_noop("role"),
    gettext_noop("status"),
    gettext_noop("tags"),
    gettext_noop("task kind"),
    gettext_noop("title"),
    gettext_noop("tokens"),
    gettext_noop("user"),
)
# The names of the statuses that an account begins with (`Status.DEFAULTS`).
STATUSES = (
    gettext_noop("Accepted"),
    gettext_noop("Done"),
    gettext_noop("Duplicate"),
    gettext_noop("Lost"),
    gettext_noop("New"),
    gettext_noop("Planned"),
    gettext_noop("Proposal"),
    gettext_noop("Qualified"),
    gettext_noop("Rejected"),
    gettext_noop("Started"),
    gettext_noop("Won"),
)


@cache
def _patterns() -> list[tuple[re.Pattern, str]]:
    split = ((re.split(r"\{(\w+)\}", words), words) for words in PATTERNS)
    return [
        (re.compile("".join(f"(?P<{part}>.+)" if n % 2 else re.escape(part) for n, part in enumerate(parts))), words)
        for parts, words in split
    ]


def pattern_of(rule: str) -> tuple[str, dict[str, str]] | None:
    """The one of PATTERNS that a rule is made from, and its values."""
    found = ((pattern.fullmatch(rule), words) for pattern, words in _patterns())
    return next(((words, match.groupdict()) for match, words in found if match), None)


def rule_in_words(rule: str) -> str:
    """A rule, to be read after the name of what it is about."""
    if (known := gettext(rule)) == rule and (made := pattern_of(rule)):
        words, values = made
        return gettext(words).format(**values)
    return known


def fault_beside_field(fault: Fault) -> str:
    return capfirst(rule_in_words(fault.rule))


def fault_in_words(fault: Fault) -> str:
    """A fault as a sentence of its own."""
    words = {"subject": capfirst(gettext(fault.subject)), "rule": rule_in_words(fault.rule)}
    # Translators: of what is wrong, such as "Name" and "is already taken". A language may need a colon between them.
    return gettext("%(subject)s %(rule)s") % words
