"""The names of the two interfaces."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

# By the format of an example: "json", "xml", or "" for a public operation, which belongs to neither.
INTERFACES: dict[str, str | Promise] = {
    "json": "Account API (JSON)",
    "xml": "Forum API (XML)",
    "": gettext_lazy("Both interfaces"),
}
