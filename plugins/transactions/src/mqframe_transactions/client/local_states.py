"""Outcomes of a producer's own transactions, which it answers checks with before it asks a listener."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from mqframe.core.sending.transaction_outcome import TransactionOutcome

REMEMBERED_MAX = 10_000


class LocalTransactionStates:
    """The last transactions of one producer, at most `remembered_max`. May be used from any thread.

    One that is still under way is UNKNOWN, whatever a listener would find at the moment: a row that its
    database does not show yet is no reason to roll back.
    """

    def __init__(self, remembered_max: int = REMEMBERED_MAX) -> None:
        self._max = remembered_max
        self._lock = Lock()
        self._outcomes: OrderedDict[str, TransactionOutcome] = OrderedDict()

    def begin(self, transaction_id: str) -> None:
        """The half message is about to be sent."""
        self._put(transaction_id, TransactionOutcome.UNKNOWN)

    def end(self, transaction_id: str, outcome: TransactionOutcome) -> None:
        """The transaction is over; an UNKNOWN one is forgotten, so that the listener is asked."""
        if outcome is TransactionOutcome.UNKNOWN:
            with self._lock:
                self._outcomes.pop(transaction_id, None)
        else:
            self._put(transaction_id, outcome)

    def find(self, transaction_id: str) -> TransactionOutcome | None:
        """The outcome; UNKNOWN while it is under way, `None` for one that is not remembered."""
        return self._outcomes.get(transaction_id)

    def _put(self, transaction_id: str, outcome: TransactionOutcome) -> None:
        with self._lock:
            self._outcomes[transaction_id] = outcome
            self._outcomes.move_to_end(transaction_id)
            if len(self._outcomes) > self._max:
                self._outcomes.popitem(last=False)
