"""The registration of the checks of domains and addresses (`core.rooms`): the module registers its jobs and their queue."""

from accounts.hosts import domains, health  # noqa: F401
