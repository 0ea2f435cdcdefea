"""Helpers for the lists of the Account API."""

from urllib.parse import urlencode

from tests.support.assertions import read


def link_to_first_page(path: str, **query) -> str:
    """Return the Link header of a list that has only one page."""
    return f'<http://acme.example.test{path}?{urlencode([*query.items(), ("page", 1)])}>; rel="first"'


def values_of(response, field: str = "name") -> list[str]:
    """Return the values of a field in all rows of a response."""
    assert response.status_code == 200, response.text
    return [row[field] for row in read(response)]


def values_by_page(client, path: str, field: str = "name") -> list[list[str]]:
    """Return the values of a field on each page, and follow the Link headers."""
    values = []
    while path:
        response = client.get(path)
        values.append(values_of(response, field))
        path = response.links.get("next", {}).get("url")
    return values
