"""Where half messages lie whose transactions are open, as far as the door has heard of them.

A producer ends a transaction by its id; brokers want to know where the half message lies.
"""

from __future__ import annotations

from typing import Final, NamedTuple

HALVES_MAX: Final = 65_536


class HalfPlace(NamedTuple):
    """A half message. `queue_offset`: in the queue of halves; `log_offset`: bytes."""

    broker: str
    queue_offset: int
    log_offset: int


class OpenHalves:
    """The newest `most` half messages, by topic and transaction id."""

    def __init__(self, most: int = HALVES_MAX) -> None:
        self._most = most
        self._places: dict[tuple[str, str], HalfPlace] = {}

    def __len__(self) -> int:
        return len(self._places)

    def stored(self, topic: str, transaction_id: str, place: HalfPlace) -> None:
        """A half message was stored, or stored anew because its producer is asked about it."""
        self._places.pop((topic, transaction_id), None)
        self._places[topic, transaction_id] = place
        if len(self._places) > self._most:
            del self._places[next(iter(self._places))]

    def find(self, topic: str, transaction_id: str) -> HalfPlace | None:
        """Where the half message lies; `None` when it is not known here."""
        return self._places.get((topic, transaction_id))

    def ended(self, topic: str, transaction_id: str) -> None:
        """The transaction has ended."""
        self._places.pop((topic, transaction_id), None)
