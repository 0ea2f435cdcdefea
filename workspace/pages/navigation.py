"""The menu entries of the team's pages."""


def register_entries() -> None:
    """Register the entries in `core.pages.navigation`."""
