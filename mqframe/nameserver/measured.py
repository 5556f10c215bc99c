"""What monitoring may know of a name server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from mqframe.core.measuring.family import Family


class MeasuredNameServer(NamedTuple):
    """`NameServerMeasures` of the one at `address`.

    `latencies`: how long requests took, by request and answer; `counters`: as operators are shown them.
    """

    address: str
    latencies: Callable[[], Family]
    counters: Callable[[], Mapping[str, str]]
