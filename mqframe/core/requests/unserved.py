"""Requests of Apache RocketMQ that have no meaning in mqframe, and what whoever sends one is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_NO_CONTROLLER: Final = (
    "mqframe has no controller: the master of a broker name is the broker itself, or whom its group elected"
    " (`mqframe replica status`)"
)
_NO_CONTAINER: Final = (
    "mqframe runs each broker in a process of its own, not in containers: start `mqframe broker`"
)
_NO_COLD_CONTROL: Final = (
    "mqframe does not throttle reads of old messages: it reads them in a thread, and gives less at once"
    " (maxTransferBytesOnMessageInDisk)"
)
_NO_ROCKSDB: Final = "mqframe keeps no queues in RocksDB: there is nothing to compare"
_OBSOLETE: Final = "no version of Apache RocketMQ since 4.0 serves it"

UNSERVED: Final[Mapping[int, str]] = {
    **dict.fromkeys((13, 22, 23, 27, 209, 210, 211, 212, 213, 214), _OBSOLETE),
    **dict.fromkeys((301, 302), "mqframe has no filter servers: subscribe with an SQL92 expression instead"),
    354: _NO_ROCKSDB,
    513: "mqframe has no static topics: make an ordinary one (updateTopic)",
    **dict.fromkeys((902, 903), _NO_CONTAINER),
    905: "mqframe's slaves do not act for their master: it does not matter who has the lowest id",
    908: "mqframe's slaves keep no flush offset of their master: they compare logs before they follow",
    **dict.fromkeys((1001, 1002, 1003, 1004, 1005, 1006, 1008, 1009, 1010, 1011, 1012, 1013), _NO_CONTROLLER),
    **dict.fromkeys((2001, 2002, 2003), _NO_COLD_CONTROL),
    2004: "mqframe leaves to the operating system how far it reads ahead in the commit log",
}
"""Why a request is not served, by its code; answered with code 3 (REQUEST_CODE_NOT_SUPPORTED)."""


def not_supported(code: int) -> str:
    """What the sender of a request that nobody serves is told."""
    why = UNSERVED.get(code)
    return f"request code {code} is not supported" + (f": {why}" if why else "")
