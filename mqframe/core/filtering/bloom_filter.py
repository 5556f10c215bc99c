"""Positions in a bloom filter, computed as Apache RocketMQ does, since files hold them.

Source: BloomFilter.java, and Murmur3 (x64, 128 bits) of Guava's `Hashing.murmur3_128`.
"""

from __future__ import annotations

import math
from typing import Final

from mqframe.core.filtering.bodies import BloomFilterData

_MASK: Final = (1 << 64) - 1
_C1: Final = 0x87C37B91114253D5
_C2: Final = 0x4CF5AD432745937F
_INT_MAX: Final = 2**31 - 1


class BloomFilter:
    """A filter for `expected` entries, of which `error_percent` of 100 are found wrongly.

    `bits`: its length; `hashes`: bits for one entry.
    """

    __slots__ = ("bits", "hashes")

    def __init__(self, error_percent: int = 20, expected: int = 32) -> None:
        error = error_percent / 100
        self.hashes = math.ceil(math.log(error) / math.log(0.5))
        wanted = expected * (math.log(1 / error) / math.log(2)) * (math.log(math.e) / math.log(2))
        self.bits = 8 * math.ceil(math.ceil(wanted) / 8)

    def generate(self, text: str) -> BloomFilterData:
        """The bits that stand for `text`."""
        low = murmur3(text.encode())
        first, second = low & 0xFFFFFFFF, low >> 32
        positions = []
        for number in range(1, self.hashes + 1):
            combined = (first + number * second) & 0xFFFFFFFF
            if combined > _INT_MAX:
                combined = ~combined & _INT_MAX
            positions.append(combined % self.bits)
        return BloomFilterData(bit_num=self.bits, bit_pos=positions)

    def is_valid(self, data: BloomFilterData | None) -> bool:
        """Whether `data` was made by a filter of this size."""
        return data is not None and data.bit_num == self.bits and len(data.bit_pos) == self.hashes


def murmur3(data: bytes) -> int:
    """The lower 64 bits of the hash of `data`, seed 0."""
    h1 = h2 = 0
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        h1 ^= _mix1(int.from_bytes(data[at : at + 8], "little"))
        h1 = (((_rotated(h1, 27) + h2) & _MASK) * 5 + 0x52DCE729) & _MASK
        h2 ^= _mix2(int.from_bytes(data[at + 8 : at + 16], "little"))
        h2 = (((_rotated(h2, 31) + h1) & _MASK) * 5 + 0x38495AB5) & _MASK
    h1 ^= _mix1(int.from_bytes(data[whole : whole + 8], "little"))
    h2 ^= _mix2(int.from_bytes(data[whole + 8 :], "little"))
    h1 ^= len(data)
    h2 ^= len(data)
    h1 = (h1 + h2) & _MASK
    h2 = (h2 + h1) & _MASK
    return (_final(h1) + _final(h2)) & _MASK


def _rotated(value: int, count: int) -> int:
    return (value << count | value >> (64 - count)) & _MASK


def _mix1(value: int) -> int:
    return _rotated(value * _C1 & _MASK, 31) * _C2 & _MASK


def _mix2(value: int) -> int:
    return _rotated(value * _C2 & _MASK, 33) * _C1 & _MASK


def _final(value: int) -> int:
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD & _MASK
    value ^= value >> 33
    value = value * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ value >> 33
