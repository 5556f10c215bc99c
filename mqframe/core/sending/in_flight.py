"""How much may be under way at once, in count and in bytes."""

from __future__ import annotations


class InFlightCount:
    """Counts what is under way. Something larger than `bytes_max` fits while nothing else is under way."""

    __slots__ = ("bytes", "bytes_max", "count", "count_max")

    def __init__(self, count_max: int, bytes_max: int) -> None:
        self.count_max = count_max
        self.bytes_max = bytes_max
        self.count = 0
        self.bytes = 0

    def acquire(self, size: int) -> bool:
        """Start one of `size` bytes if it fits; returns whether it did."""
        if self.count < self.count_max and (self.bytes + size <= self.bytes_max or not self.count):
            self.count += 1
            self.bytes += size
            return True
        return False

    def release(self, size: int, count: int = 1) -> None:
        """`count` ended, of `size` bytes in all."""
        self.count -= count
        self.bytes -= size

    def __str__(self) -> str:
        return f"{self.count} of {self.count_max} messages, {self.bytes} of {self.bytes_max} bytes"
