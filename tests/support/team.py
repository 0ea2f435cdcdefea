"""Helpers of the tests of the team's pages."""


def messages_of(response) -> list[str]:
    return [" ".join(element.get_text(" ").split()) for element in response.html.select("#messages .notice p")]


def went_to(response, path: str) -> list[str]:
    """Assert that the response redirects to the path, and return the messages of the page there."""
    assert (response.status_code, response.headers["Location"]) == (303, path)
    page = response.follow()
    while page.status_code in (301, 302, 303):
        page = page.follow()
    return messages_of(page)


def fresh(post):
    return type(post).objects.get(pk=post.pk)


HTMX = {"HX-Request": "true"}
