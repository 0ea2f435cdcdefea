"""The registration of the e-mails (`core.rooms`): the module registers its job and their queues."""

from accounts.mail import sending  # noqa: F401
