"""The errors that models and the engine raise. They know nothing of HTTP: each interface turns them into its own answer."""


class Conflict(Exception):
    """The request cannot be carried out because of another one at the same time; it may be sent again."""

    def __init__(self, message: str):
        super().__init__(message)
        self.detail = message


class ConcurrentUpdate(Conflict):
    """Another transaction took what this one had found free. The transaction is to be tried again from its beginning."""
