"""What becomes of each message of a batch: stored, or answered with the place of the first with its key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mqframe.core.messages import properties as p
from mqframe.core.messages.batch import decode_batch, encode_element
from mqframe.core.storage.stored import StoredBatch
from mqframe_deduplication.window import First, Identity


class Element(NamedTuple):
    """One message of a batch, `encoded` as in the batch. `identity`: `None` for a message without a key."""

    identity: Identity | None
    unique_key: str
    encoded: bytes


class Plan(NamedTuple):
    """What to do with a batch.

    `kept`: the messages to store, in order; `firsts`: for each message of the batch the first result of its
    key, or the number within `kept` of the message that is stored for it.
    """

    kept: list[Element]
    firsts: list[First | int]


def read_elements(
    batch: bytes | memoryview, name: str, identify: Callable[[str], Identity], added: str = ""
) -> list[Element]:
    """The messages of `batch`, whose keys are in the property `name`. Raises `BodyError`.

    `identify` makes the identity of a key; `added` in text form goes behind the properties of those with one.
    """
    elements = []
    for flag, body, raw in decode_batch(batch):
        text = str(raw, "utf-8", "replace")
        key = p.find_property(text, name)
        more = bytes(raw)
        if key is not None and added:
            more += (b"" if more.endswith(b"\x02") else b"\x02") + added.encode()
        elements.append(
            Element(
                None if key is None else identify(key),
                p.find_property(text, p.UNIQUE_KEY) or "",
                encode_element(bytes(body), more, flag),
            )
        )
    return elements


def plan(elements: Sequence[Element], find: Callable[[Identity], First | None]) -> Plan:
    """Decide for each of `elements` as if they were sent one after the other."""
    kept: list[Element] = []
    firsts: list[First | int] = []
    here: dict[Identity, int] = {}
    for element in elements:
        known: First | int | None = None
        if element.identity is not None:
            known = find(element.identity)
            if known is None:
                known = here.get(element.identity)
        if known is None:
            known = len(kept)
            kept.append(element)
            if element.identity is not None:
                here[element.identity] = known
        firsts.append(known)
    return Plan(kept, firsts)


def results(made: Plan, stored: StoredBatch | None, queue_id: int) -> list[First]:
    """The place of each message of the batch; `stored`: where the kept ones lie, `None`: there are none."""
    new: list[First] = []
    if stored is not None:
        ends = [*stored.offsets[1:], stored.end_offset]
        new = [
            First(
                offset,
                end - offset,
                queue_id,
                stored.queue_offset + number,
                stored.store_timestamp,
                e.unique_key,
            )
            for number, (offset, end, e) in enumerate(zip(stored.offsets, ends, made.kept, strict=True))
        ]
    return [new[first] if isinstance(first, int) else first for first in made.firsts]


def in_one_row(firsts: Sequence[First]) -> bool:
    """Whether the messages lie one behind the other in one queue, as those of a batch just stored do."""
    start = firsts[0]
    return all(
        (first.queue_id, first.queue_offset) == (start.queue_id, start.queue_offset + number)
        for number, first in enumerate(firsts)
    )
