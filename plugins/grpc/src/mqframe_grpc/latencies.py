"""How long calls take from their requests to their answers: histograms by RPC and answer."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final

from mqframe.core.measuring.family import Family
from mqframe.core.measuring.histogram import Histogram
from mqframe.net.latencies import BOUNDS_MS, Latencies
from mqframe_grpc.proto import messages as m

PROTOCOL: Final = "grpc"
_NAMES: Final = {int(code): code.name.lower() for code in m.Code}
_WORD_BEGIN: Final = re.compile(r"(?<!^)(?=[A-Z])")


class RpcLatency:
    """Counts the answers of one RPC. `name`: as metrics have it, `send_message`; `polls`: it may wait."""

    __slots__ = ("_found", "name", "polls")

    def __init__(self, name: str, *, polls: bool) -> None:
        self.name = name
        self.polls = polls
        self._found: dict[int, Histogram] = {}

    def add(self, code: int, seconds: float) -> None:
        """An answer with `code` after so long."""
        # Every answer passes here.
        found = self._found.get(code)
        if found is None:
            found = self._found[code] = Histogram(BOUNDS_MS)
        took_ms = seconds * 1000
        found.counts[bisect_left(BOUNDS_MS, took_ms)] += 1
        found.sum += took_ms

    def add_to(self, family: Family) -> None:
        """Enter what was counted."""
        way = "true" if self.polls else "false"
        for code, histogram in self._found.items():
            family.add(histogram, PROTOCOL, self.name, _NAMES.get(code, str(code)), way, "success")


class RpcLatencies:
    """Counts the answers of a door, from when it was made on. Calls that end without one do not count."""

    def __init__(self) -> None:
        self._found: list[RpcLatency] = []

    def of(self, rpc: str, *, polls: bool = False) -> RpcLatency:
        """What counts the answers of one RPC, "SendMessage"; to be asked for once."""
        found = RpcLatency(_WORD_BEGIN.sub("_", rpc).lower(), polls=polls)
        self._found.append(found)
        return found

    def family(self) -> Family:
        """All of them, among those of requests of the other protocol."""
        family = Latencies(()).family()
        for each in self._found:
            each.add_to(family)
        return family
