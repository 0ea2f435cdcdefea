"""The names of the rows to which a row links, as annotations."""

from django.db.models import CharField, F, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, NullIf

from accounts.models import User


def name_of_user(column: str) -> Subquery:
    """Return the name of the user whose id is in a column of the row."""
    users = User.objects.filter(account_id=OuterRef("account_id"), id=OuterRef(column))
    return Subquery(users.values(nick=Coalesce(NullIf("name", Value("", CharField())), F("login")))[:1])


def name_of_row(rows: QuerySet, column: str) -> Subquery:
    """Return the name of the row of `rows` whose id is in a column."""
    return Subquery(rows.filter(id=OuterRef(column)).values("name")[:1])
