"""Where the dispatcher's messages land: what its writer needs of a folder of files, or of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class Slot(NamedTuple):
    """What is published on its own, in the order of the log: a topic, and in folders a UTC day of storage.

    `day`: YYYY-MM-DD; "" where days are no matter of publishing.
    """

    topic: str
    day: str


class Landing(Protocol):
    """Publishes stretches of slots, each at once or not at all, and knows what it has published."""

    def slot(self, topic: str, day: str) -> Slot:
        """Where messages of `topic`, stored on `day`, go."""
        ...

    def published(self) -> dict[Slot, int]:
        """Up to which commit-log offset each slot is done. Clears away what was left unfinished."""
        ...

    def end(self, slot: Slot) -> int:
        """Up to which commit-log offset `slot` is published, looked up now; 0 when nothing is."""
        ...

    def publish(self, slot: Slot, start: int, end: int, table: pa.Table) -> str:
        """Bring `table`, the messages of `slot` in [start, end) of the log, to the disk, durably.

        Gives where they are now. Raises `OSError` or an error of mqframe: then it may have been done or not,
        which `end` tells.
        """
        ...

    def settle(self, ends: Mapping[Slot, int], log_start: int) -> None:
        """Keep that slots are done up to `ends`; then remove what is too much.

        `log_start`: the oldest commit-log offset that can still be handed over. Raises `OSError`.
        """
        ...

    def expire(self, day: str) -> None:
        """Remove the messages of the days before `day`. Raises as `publish`."""
        ...
