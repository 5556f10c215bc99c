"""Tags codes and index keys of records that come one behind the other, as a master's do."""

from __future__ import annotations

from typing import Final

from mqframe.core.messages.names import SCHEDULE_TOPIC
from mqframe.core.messages.properties import UNIQUE_KEY
from mqframe.core.storage.dispatch_facts import index_keys, queue_code

_UNIQUE: Final = f"{UNIQUE_KEY}\x01"


class DispatchFacts:
    """Tags code and index keys of one record after the other, in half the time for those that are alike.

    The records of a producer mostly differ in nothing but their unique key: what was found out about the rest
    of the properties of the last record is kept. `levels`: as in `queue_code`.
    """

    def __init__(self, levels: tuple[int, ...]) -> None:
        self._levels = levels
        # Where the unique key of the last record began and ended, what stood before and behind it.
        self._last: tuple[int, int, str, str | None] = 0, 0, "", None
        self._code = 0
        self._keys: tuple[str, ...] = ()

    def of(self, topic: str, text: str, store_timestamp: int) -> tuple[int, tuple[str, ...]]:
        """What `queue_code` and `index_keys` say of a record with properties `text`."""
        begin, end, head, tail = self._last
        # A key without separators in it changes nothing of what the rest says.
        if (
            text[end:] == tail
            and text[:begin] == head
            and (unique := text[begin:end]).isalnum()
            and topic != SCHEDULE_TOPIC
        ):
            return self._code, (unique, *self._keys) if self._keys else (unique,)
        code = queue_code(topic, text, store_timestamp, self._levels)
        keys = index_keys(text)
        if keys and topic != SCHEDULE_TOPIC:
            self._remember(text, code, keys)
        return code, keys

    def _remember(self, text: str, code: int, keys: tuple[str, ...]) -> None:
        begin = text.rfind(_UNIQUE) + len(_UNIQUE)
        end = text.find("\x02", begin)
        starts_pair = begin == len(_UNIQUE) or text[begin - len(_UNIQUE) - 1 : begin - len(_UNIQUE)] == "\x02"
        if end > begin >= len(_UNIQUE) and starts_pair and text[begin:end].isalnum():
            self._last = begin, end, text[:begin], text[end:]
            self._code, self._keys = code, keys[1:]
