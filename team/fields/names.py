"""The rows to which fields link: their names, as annotations or read with one statement, and their addresses."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from django.db.models import CharField, F, Model, OuterRef, QuerySet, Subquery, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce, NullIf

from accounts.account.models import Account
from accounts.fields.catalogue import Field
from accounts.roles.models import ASSIGNABLE
from accounts.statuses.models import Status, status_name
from accounts.users.models import User
from core.api.routing import path_with_id
from core.rows.declared import FieldType

# The most users in the choices of a form.
MAX_USERS = 500


def name_of_user(column: str) -> Subquery:
    """Return the name of the user whose id is in a column of the row."""
    users = User.objects.filter(account_id=OuterRef("account_id"), id=OuterRef(column))
    return Subquery(users.values(nick=Coalesce(NullIf("name", Value("", CharField())), F("login")))[:1])


def name_of_row(rows: QuerySet[Model], column: str) -> Subquery:
    """Return the name of the row of `rows` whose id is in a column."""
    return Subquery(rows.filter(id=OuterRef(column)).values("name")[:1])


def people_of(account: Account, limit: int | None = MAX_USERS) -> list[tuple[int, str]]:
    """Return the ids and names of the users whom forms offer as the responsible user."""
    team = account.users.filter(**ASSIGNABLE).order_by("name", "id").values_list("id", "name", "login")
    return [(id, name or login) for id, name, login in team[:limit]]


# The types of fields that link to records, which have a page, and to other rows.
RECORDS = (FieldType.CLIENT, FieldType.CONTACT, FieldType.DEAL)
OF_FORUM = {FieldType.CATEGORY: "categories", FieldType.FORUM: "forums"}
LINKS = (FieldType.USER, FieldType.STATUS, *OF_FORUM, *RECORDS)
RECORD_ICONS = {"client": "building-2", "contact": "user", "deal": "handshake"}
Ids = dict[FieldType, set[int]]


@dataclass
class Names:
    """The names of the rows to which the rows of a list link, read with one statement."""

    names: dict[tuple[FieldType, int], str] = field(default_factory=dict)
    colors: dict[int, str] = field(default_factory=dict)

    @classmethod
    def read(cls, account: Account, user: User, links: Iterable[tuple[FieldType, int]]) -> "Names":
        """Return the names for pairs of the type of a field and an id. A row that the user may not access, or that is in the trash, has none."""
        ids: Ids = defaultdict(set)
        for link_type, id in links:
            if id is not None:
                ids[link_type].add(id)
        names = cls()
        queries = [linked_rows(account, user, type, found) for type, found in ids.items()]
        if not queries:
            return names
        for type, id, name, kind, code, color in queries[0].union(*queries[1:], all=True):
            status = Status(kind=kind, code=code, name=name)
            names.names[FieldType(type), id] = status_name(status) if type == FieldType.STATUS else name
            if color:
                names.colors[id] = color
        return names

    def get_name(self, type: FieldType, id: int) -> str:
        """Return the name of a row, or its number if the user may not see it."""
        return self.names.get((type, id), str(id))


def linked_rows(
    account: Account, user: User, type: FieldType, ids: set[int]
) -> QuerySet[Model, tuple[str, int, str, str, str, str]]:
    """Return the type, id, name, kind, code and color of rows to which fields link. The last three are those of statuses."""
    nothing = Value("", CharField())
    of_status: tuple[Combinable, Combinable, Combinable] = (nothing, nothing, nothing)
    name: Combinable = Cast("name", CharField())
    rows: QuerySet[Model]
    if type == FieldType.STATUS:
        rows, of_status = account.statuses.all(), (F("kind"), F("code"), F("color"))
    elif type == FieldType.USER:
        rows, name = account.users.all(), Coalesce(NullIf("name", nothing), F("login"))
    elif type in OF_FORUM:
        rows = getattr(account, OF_FORUM[type]).all()
    else:
        rows = getattr(account, f"{type}s").live().accessible_to(user)
    return rows.filter(id__in=ids).order_by().values_list(Value(str(type), CharField()), "id", name, *of_status)


def href_of(field: Field, value: Any) -> str:
    """Return the address to which a value links."""
    if value in (None, ""):
        return ""
    if field.type in RECORDS:
        return path_with_id(f"team-{field.type}", value)
    match field.type:
        case FieldType.EMAIL:
            return f"mailto:{quote(value, safe='@')}"
        case FieldType.PHONE:
            return "tel:" + "".join(sign for sign in str(value) if sign.isdigit() or sign == "+")
        case FieldType.LINK:
            address = str(value)
            if address.lower().startswith(("http://", "https://")):
                return address
            return f"https://{address}" if "." in address and " " not in address and ":" not in address else ""
    return ""
