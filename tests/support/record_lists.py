"""The lists of records of the team's pages, read without a page."""

from django.http import QueryDict

from accounts.users.models import User
from core.api.paging import ListPage
from team.lists.saved_views import read_list


def read_record_list(user: User, resource: str, query: str) -> tuple[list[str], list[str]]:
    """Return the names of the rows on the first page of a list, and the errors of the query."""
    found = read_list(resource, QueryDict(query), account=user.account, user=user, views=[])
    ids, _count = found.find(ListPage(1, 25))
    name = found.declaration.name_field
    names = {id: values[name] for id, values in found.values(ids, {"id", name}).items()}
    return [names[id] for id in ids], [f"{error.field} {error.text}" for error in found.errors]


def select_rows(visitor, rows, action: str, *, path: str = "/app/clients", everything: bool = False):
    """Select rows of a list, choose an action and continue. Return the page with the form of the value."""
    form = visitor.get(path).forms["selection"]
    ids = {str(row.id) for row in rows}
    for box in form.fields["id"]:
        box.checked = box._value in ids
    form["all"].checked = everything
    form["action"] = action
    return form.submit(expect_errors=True)


def choose_filter(page, name: str):
    """Press the button of a field in the menu of filters. Return the page with the form of the filter."""
    form = next(form for form in page.forms.values() if form.html.select_one("[data-find-button]"))
    return form.submit("add", value=name)


def select_columns(page, *names: str):
    """Check the boxes of columns in the menu of columns, and return its form."""
    form = next(form for form in page.forms.values() if "Show these columns" in form.text)
    for box in form.fields["columns"]:
        box.checked = box._value in names
    return form


def filter_chips(page) -> list[str]:
    """Return the filters in use, and the words between their groups."""
    parts = page.html.select(".chips > .chip > :first-child, .chips > .chip > bdi, .chips > span.soft")
    return [" ".join(part.get_text().split()) for part in parts]
