"""What copies of a log confirm, as the store of that log asks for it (replication.md §4).

A store is opened with one `Replicas`, or with none: then nothing but the flush counts. One such rule is that
of a `SYNC_MASTER`, whose sends wait for slaves in sync.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mqframe.core.errors import StoreUnavailable
from mqframe.core.storage.outcome import Outcome


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

        Those who wait for something that is not confirmed are told at once, with what `trouble` says, unless
        `ends_waits` is false. Asked for before each message is stored. A copy has none, it stores all.
        """
