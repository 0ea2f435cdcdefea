"""Helpers for the lists of the Account API."""

from urllib.parse import urlencode

from tests.support.assertions import read


def first(path: str, **query) -> str:
    """Return the Link header of a list with a single page."""
    return f'<http://acme.example.test{path}?{urlencode([*query.items(), ("page", 1)])}>; rel="first"'


def names(response, field: str = "name") -> list[str]:
    assert response.status_code == 200, response.text
    return [row[field] for row in read(response)]


def pages(client, path: str, field: str = "name") -> list[list[str]]:
    """Return the values of a field on each page, following the Link headers."""
    found = []
    while path:
        response = client.get(path)
        found.append(names(response, field))
        path = response.links.get("next", {}).get("url")
    return found
