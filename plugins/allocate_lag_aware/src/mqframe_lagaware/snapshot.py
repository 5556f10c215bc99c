"""What all members decide by: lags of one moment and who had which queue, as a note of name servers."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from mqframe.core.errors import BodyError
from mqframe.core.messages.message import MessageQueue
from mqframe_lagaware.split import split

VERSION: Final = 1
PLAIN_CHARACTERS_MAX: Final = 8192
"""A longer note is packed: it travels in a header, and servers read short ones only."""
UNPACKED_BYTES_MAX: Final = 16 << 20
_PACKED: Final = "z:"


@attrs.frozen(kw_only=True)
class LagSnapshot:
    """Lags of one moment, with who shall own the queues from `from_ms` on.

    `epoch`: counts the snapshots of a topic; `publisher`: the member that took it; times are ms since 1970 by
    the publisher's clock; `queue_cost` and `threshold`: the publisher's options, so that all members use the
    same.
    """

    epoch: int
    publisher: str
    taken_ms: int
    from_ms: int
    queue_cost: int
    threshold: float
    lags: Mapping[MessageQueue, int]
    owners: Mapping[MessageQueue, str]

    def split(self, queues: Sequence[MessageQueue], clients: Sequence[str]) -> dict[MessageQueue, str]:
        """The owners of `queues` among `clients`, whoever of them came or went since the snapshot."""
        return split(
            self.lags, self.owners, queues, clients, queue_cost=self.queue_cost, threshold=self.threshold
        )


@attrs.frozen
class Note:
    """One or two snapshots of a topic: the one that counts, and behind it the one that will.

    A member that starts in between learns both.
    """

    snapshots: tuple[LagSnapshot, ...]

    @property
    def newest(self) -> LagSnapshot:
        """The last one."""
        return self.snapshots[-1]

    @property
    def order(self) -> tuple[int, str]:
        """The greater one is newer; of two of the same epoch all members prefer the same."""
        return self.newest.epoch, self.newest.publisher

    def text(self) -> str:
        """For name servers to keep."""
        said = {"version": VERSION, "snapshots": [_table(each) for each in self.snapshots]}
        plain = json.dumps(said, separators=(",", ":"), sort_keys=True)
        if len(plain) <= PLAIN_CHARACTERS_MAX:
            return plain
        return _PACKED + base64.b85encode(zlib.compress(plain.encode(), 9)).decode()


def read_note(text: str, topic: str) -> Note:
    """The note that `text` stands for. Raises `BodyError` for one that this version cannot read."""
    try:
        said = json.loads(_unpacked(text))
        if said["version"] != VERSION:
            raise BodyError(f"note of topic {topic}: version {said['version']!r}; {VERSION} can be read")
        note = Note(tuple(_snapshot(each, topic) for each in said["snapshots"]))
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as problem:
        raise BodyError(f"note of topic {topic} cannot be read: {problem!r}") from None
    if not note.snapshots:
        raise BodyError(f"note of topic {topic} holds no snapshot")
    return note


def _unpacked(text: str) -> str:
    if not text.startswith(_PACKED):
        return text
    unpacking = zlib.decompressobj()
    found = unpacking.decompress(base64.b85decode(text[len(_PACKED) :]), UNPACKED_BYTES_MAX)
    if not unpacking.eof:
        raise ValueError(f"cut off, or longer than {UNPACKED_BYTES_MAX} bytes")
    return found.decode()


def _table(snapshot: LagSnapshot) -> dict[str, object]:
    clients = sorted(set(snapshot.owners.values()))
    places = {client: place for place, client in enumerate(clients)}
    queues: dict[str, list[list[int]]] = {}
    for queue in sorted(snapshot.owners):
        row = [queue.queue_id, snapshot.lags.get(queue, 0), places[snapshot.owners[queue]]]
        queues.setdefault(queue.broker_name, []).append(row)
    return {
        "epoch": snapshot.epoch,
        "publisher": snapshot.publisher,
        "taken_ms": snapshot.taken_ms,
        "from_ms": snapshot.from_ms,
        "queue_cost": snapshot.queue_cost,
        "threshold": snapshot.threshold,
        "clients": clients,
        "queues": queues,
    }


def _snapshot(said: Mapping[str, Any], topic: str) -> LagSnapshot:
    lags: dict[MessageQueue, int] = {}
    owners: dict[MessageQueue, str] = {}
    for broker, rows in said["queues"].items():
        for queue_id, lag, place in rows:
            queue = MessageQueue(topic, broker, int(queue_id))
            lags[queue] = max(0, int(lag))
            owners[queue] = str(said["clients"][place])
    return LagSnapshot(
        epoch=int(said["epoch"]),
        publisher=str(said["publisher"]),
        taken_ms=int(said["taken_ms"]),
        from_ms=int(said["from_ms"]),
        queue_cost=max(1, int(said["queue_cost"])),
        threshold=max(0.0, float(said["threshold"])),
        lags=lags,
        owners=owners,
    )
