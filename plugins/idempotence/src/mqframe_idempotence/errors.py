"""What may go wrong, by what the caller can do. A message that meets one is delivered again."""

from __future__ import annotations

from mqframe.core.errors import FixError, RetryError


class NoKey(FixError):
    """A message has no key where one was expected. Each delivery fails, so it becomes a dead letter."""


class WrongUse(FixError):
    """Store, function and options do not fit together. The message says what to change."""


class TableMissing(FixError):
    """The table of keys does not exist. The message says how to make it."""


class StatementRefused(FixError):
    """The database does not understand the statements of the store. The message says what to look at."""


class TransactionLost(FixError):
    """The listener ended the transaction that it was given, or went on in one that had failed."""


class InProgress(RetryError):
    """Another delivery of the same key is being worked on; whether it succeeds is not known yet.

    `delay_level`: when the message should come again; 0 leaves that to the broker.
    """

    delay_level = 0


class StoreBusy(RetryError):
    """The database gave up waiting, or gave way to another transaction; nothing was kept."""


class StoreAway(RetryError):
    """The store could not be asked, or did not answer."""
