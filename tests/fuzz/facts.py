"""What a stranger has learned from answers: ids, offsets and handles that it hands back later."""

from __future__ import annotations

from collections import defaultdict, deque
from random import Random

from mqframe.core.wire.frame import Frame

KEPT = 12
"""How many values of each field are remembered: few, so that memory stays flat."""
_LONGEST = 400


class Facts:
    """Values of answers by the name of their field; those of popped messages under `extraInfo`."""

    def __init__(self) -> None:
        self._values: dict[str, deque[str]] = defaultdict(lambda: deque(maxlen=KEPT))

    def learn(self, answer: Frame) -> None:
        """Remember what `answer` says."""
        ext = answer.ext or {}
        for name, value in ext.items():
            if len(value) <= _LONGEST:
                self._values[name].append(value)
        if len(message_id := ext.get("msgId", "")) == 32:
            self._values["commitLogOffset"].append(str(int(message_id[16:], 16)))
        if ext.get("startOffsetInfo") and len(ext.get("msgOffsetInfo", "")) < _LONGEST:
            self._learn_handles(ext)

    def _learn_handles(self, ext: dict[str, str]) -> None:
        starts = dict(piece.rsplit(" ", 1) for piece in ext["startOffsetInfo"].split(";"))
        for piece in ext.get("msgOffsetInfo", "").split(";"):
            place, _, offsets = piece.rpartition(" ")
            mark, _, queue = place.partition(" ")
            for offset in offsets.split(",")[:4]:
                words = (starts.get(place, 0), ext["popTime"], ext["invisibleTime"], ext["reviveQid"])
                handle = " ".join(map(str, (*words, mark, "broker-a", queue, offset)))
                self._values["extraInfo"].append(handle)
                self._values["offset"].append(offset)

    def some(self, chance: Random, name: str) -> str | None:
        """One value of the field `name`; `None` where none is known."""
        known = self._values.get(name)
        return chance.choice(known) if known else None
