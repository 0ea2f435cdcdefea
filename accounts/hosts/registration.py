"""The registration of the checks of domains (`core.rooms`): the module registers its jobs and their queue."""

from accounts.hosts import domains  # noqa: F401
