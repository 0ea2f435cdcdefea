"""The path converter `id`, and the actions behind the paths of a resource, for `as_view`."""


class IdConverter:
    """An id in a path: at most 18 digits, so that it fits into a 64-bit integer."""

    regex = "[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


RESOURCE = {"post": "create"}
BULK = {"post": "bulk"}
RESOURCE_ITEM = {"get": "retrieve", "put": "update", "patch": "update", "delete": "destroy"}
