"""The confirmed-offset port: up to where the log holds what the configured durability promises.

Consumers never see a record at or past the confirmed offset, so they cannot commit past one that a crash
would take back, and whoever has to know that a write lasts waits for the same offset. It is the smaller of
two: what is flushed as configured (store.md §3), and, where a broker's log is copied and that counts, what
enough copies have (replication.md §4).

What copies have is told by a `Replicas`, of which a store is opened with one, or with none: then nothing but
the flush counts. The rule of a `SYNC_MASTER` is `mqframe.core.replication.in_sync.InSync`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mqframe.core.errors import StoreUnavailable
from mqframe.core.storage.outcome import Outcome


class ConfirmedOffset(Protocol):
    """Names the first commit-log offset, in bytes, that is not confirmed yet."""

    def __call__(self) -> int:
        """The offset. It never goes back."""
        ...


class Replicas(Protocol):
    """What the copies of a store's log confirm. Belongs to the loop of the store, and is called there only.

    A store calls `attach` once, and then asks; whoever hears of copies tells the object, which calls `moved`.
    """

    @property
    def timeout_seconds(self) -> float:
        """How long those who wait do so for copies; it does not change."""

    def attach(self, end: int, moved: Callable[[], object]) -> int:
        """A store with a log that ends at `end` has been opened; up to where that is known to be confirmed.

        What lies behind is shown once `confirmed` passes it; `end`: all that was found is shown at once.
        `moved` is to be called on the loop whenever `confirmed` may have grown, or `refusal` has come: the
        store then shows consumers what is confirmed and answers those who wait, once in a turn of the loop
        however often it is called. That `end` grows calls for nothing.
        """

    def confirmed(self, end: int) -> int:
        """First log offset that copies do not confirm of a log that ends at `end` now, bytes.

        It is never beyond `end` and never goes back, whatever copies come and go. Asked for with each
        message: it has to be cheap, and does nothing but compute.
        """

    def trouble(self, end: int) -> Outcome | None:
        """What senders of what ends at log offset `end` are told in place of success; `None`: all is well.

        Asked when that is confirmed, though perhaps with fewer copies than were asked for, or when `refusal`
        says that it will not be; then `None` stands for NOT_COPIED.
        """

    def refusal(self) -> StoreUnavailable | None:
        """Why nothing is to be stored now, and nothing further is confirmed; `None` when that is not so.

        Those who wait for something that is not confirmed are told at once, with what `trouble` says. Asked
        for before each message is stored. A copy has none: what its leader sends is always stored.
        """


def flushed_as_configured(
    sync: bool, appended: Callable[[], int], flushed: Callable[[], int]
) -> ConfirmedOffset:
    """The port of a broker whose copies do not count: `flushed` with synchronous flush, else `appended`."""
    return flushed if sync else appended


def flushed_and_copied(
    flushed: ConfirmedOffset, appended: Callable[[], int], replicas: Replicas
) -> ConfirmedOffset:
    """The port of a broker whose copies count: what both the flush, as configured, and copies confirm.

    `appended`: where the log ends.
    """
    copied = replicas.confirmed

    def both() -> int:
        on_disk, elsewhere = flushed(), copied(appended())
        return min(on_disk, elsewhere)

    return both
