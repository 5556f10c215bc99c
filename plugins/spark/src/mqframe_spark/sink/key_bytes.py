"""Keys of many rows at once: unique keys as producers give them, and Java's hash codes of sharding keys."""

from __future__ import annotations

import ipaddress
import os
import random
import time
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mqframe.core.messages.ids import local_month_start_ms
from mqframe.core.messages.java_hash import java_hash
from mqframe_spark.records.arrays import array_of, flags_of, null_mask, numbers_of, scalar_of
from mqframe_spark.records.gathering import bounds_of, content

_DIGITS: Final = np.frombuffer(b"0123456789ABCDEF", np.uint8)
_SHIFTS: Final = np.arange(44, -4, -4, dtype=np.int64)
"""Of the 12 digits that differ: 8 of the milliseconds, 4 of the counter."""


class UniqueKeys:
    """Unique keys of one task: address, process and a random number, then milliseconds and a counter.

    They look like those of other producers (source: MessageClientIDSetter.java). `client_id`: that of the
    producer, which begins with its address. `now_ms`: the wall clock.
    """

    def __init__(
        self,
        client_id: str,
        *,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        salt: int | None = None,
    ) -> None:
        try:
            address = ipaddress.ip_address(client_id.partition("@")[0]).packed
        except ValueError:
            address = bytes((127, 0, 0, 1))
        number = random.SystemRandom().randrange(1 << 32) if salt is None else salt
        head = address + (os.getpid() & 0xFFFF).to_bytes(2, "big") + number.to_bytes(4, "big")
        self._head = np.frombuffer(head.hex().upper().encode(), np.uint8)
        self._now_ms = now_ms
        self._started_ms = local_month_start_ms(now_ms())
        self._next = 0

    def take(self, count: int) -> pa.BinaryArray:
        """`count` new keys. Where one millisecond is not enough for them, they borrow from the next."""
        elapsed = self._now_ms() - self._started_ms
        self._next = max(self._next, elapsed << 16)
        numbers = np.arange(self._next, self._next + count, dtype=np.int64)
        self._next += count
        width = len(self._head) + len(_SHIFTS)
        keys = np.empty((count, width), np.uint8)
        keys[:, : len(self._head)] = self._head
        keys[:, len(self._head) :] = _DIGITS[(numbers[:, None] >> _SHIFTS) & 15]
        return fixed_binary(keys)


def fixed_binary(table: npt.NDArray[np.uint8]) -> pa.BinaryArray:
    """The rows of `table` as binary values."""
    rows, width = table.shape
    bounds = np.arange(0, rows * width + 1, width, dtype=np.int32) if width else np.zeros(rows + 1, np.int32)
    return pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(bounds), pa.py_buffer(table)])


def key_hashes(keys: pa.Array) -> npt.NDArray[np.int64]:
    """`hashCode()` of each key as Java has it: a string's, an Integer's, a Long's or a Boolean's; 0 for null.

    A number that fits 32 bits counts as an Integer, as for the hash selector of this client.
    """
    if pa.types.is_boolean(keys.type):
        truth = flags_of(keys)
        hashes = np.where(truth, 1231, 1237).astype(np.int64)
    elif pa.types.is_integer(keys.type):
        numbers = numbers_of(keys.cast(pa.int64()))
        folded = (numbers ^ (numbers >> 32)) & 0xFFFFFFFF
        folded = np.where(folded >= 1 << 31, folded - (1 << 32), folded)
        hashes = np.where((numbers >= -(1 << 31)) & (numbers < 1 << 31), numbers, folded)
    else:
        coded = keys.cast(pa.binary()).dictionary_encode()
        if not len(coded.dictionary):
            return np.zeros(len(keys), np.int64)
        places = numbers_of(coded.indices)
        hashes = _text_hashes(coded.dictionary)[places]
    hashes[null_mask(keys)] = 0
    return hashes


def _text_hashes(texts: pa.BinaryArray) -> npt.NDArray[np.int64]:
    raw = content(texts)
    if len(raw) and raw.max() >= 128:
        return np.array([java_hash(text.decode()) for text in texts.to_pylist()], np.int64)
    bounds = bounds_of(texts)
    sizes = np.diff(bounds)
    order = np.argsort(-sizes, kind="stable")  # so that those that go on are always the first ones
    starts, sizes = bounds[:-1][order], sizes[order]
    hashes = np.zeros(len(texts), np.uint32)
    for at in range(int(sizes[0]) if len(sizes) else 0):
        going = int(np.searchsorted(-sizes, -at, "left"))
        hashes[:going] = hashes[:going] * np.uint32(31) + raw[starts[:going] + at]
    result = np.empty(len(texts), np.int64)
    result[order] = hashes.view(np.int32)
    return result


def numbered(prefix: str, first: int, count: int) -> pa.BinaryArray:
    """`prefix` with the numbers from `first` on behind it."""
    numbers = array_of(np.arange(first, first + count)).cast(pa.string()).cast(pa.binary())
    return pc.binary_join_element_wise(scalar_of(prefix), numbers, scalar_of(b""))
