"""What all JSON bodies have in common, and those that any room may carry (wire.md §4).

Fields are declared in alphabetical order, as Apache RocketMQ writes them. Maps keyed by message queue
have `MessageQueue` keys (`mqframe.core.wire.loose_json` reads and writes them as Java does).
"""

from __future__ import annotations

import msgspec


class Body(msgspec.Struct, rename="camel"):
    """A JSON object with camel-case names. Unknown names are ignored.

    Kinds of which a server may hold hundreds of thousands are made with `gc=False`: they are in no cycle, and
    collections of garbage, for which everything waits, need not look at them.
    """


class DataVersion(Body):
    """Version of a table: changed when the table changes. `timestamp` in ms."""

    counter: int = 0
    state_version: int = 0
    timestamp: int = 0

    def next(self, now_ms: int) -> DataVersion:
        """The version after this one; `now_ms`: wall-clock time."""
        return DataVersion(self.counter + 1, self.state_version, now_ms)


class KVTable(Body):
    """Names and values."""

    table: dict[str, str] = {}
