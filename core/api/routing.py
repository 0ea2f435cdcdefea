"""The path converter `id`, and the actions of the routes of a resource, for `as_view`."""


class IdConverter:
    """A converter for an id of at most 18 digits, which fits into a 64-bit integer."""

    regex = "[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


CREATE = {"post": "create"}
BULK = {"post": "bulk"}
ITEM = {"get": "retrieve", "put": "update", "patch": "update", "delete": "destroy"}
