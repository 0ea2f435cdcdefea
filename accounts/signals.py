"""The signals of accounts."""

from django.dispatch import Signal

# Sent in the transaction that creates an account, after its hosts and before its statuses and owner. Arguments: `account`, and
# `host`, the `Host` of the account's first site. An exception in a receiver rolls back the transaction.
account_created = Signal()

# Sent in the transaction in which a person joins an account by signing up or by an invitation. Arguments: `user`, and `site_ids`, the ids of the
# sites to which the user was invited.
user_joined = Signal()

# Sent in the transaction in which a block of a member ends. Arguments: `user`, and `blocked_at`, the time of the block.
block_ended = Signal()

# Sent in the transaction in which a user changes to another verified e-mail. Arguments: `user`.
email_changed = Signal()

# Sent in the transaction that changes the outcome of a status of deals. Arguments: `status`.
outcome_changed = Signal()

# Sent in the transaction that changes the currency of an account. Arguments: `account`.
currency_changed = Signal()

# Sent in the transaction in which a user ends all access that works without the password, beyond sessions and tokens. Arguments: `user`.
access_ended = Signal()
