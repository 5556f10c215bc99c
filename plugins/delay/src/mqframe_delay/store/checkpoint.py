"""The timer's checkpoint file: how far wheel and log are on disk (TimerCheckpoint.java)."""

from __future__ import annotations

from pathlib import Path

from mqframe.store.files.descriptors import save_page
from mqframe_delay.rules.timer_layout import CHECKPOINT


class TimerCheckpoint:
    """`read_time`: slots before it are delivered, ms; `position`: log up to which all is on disk, bytes;
    `queue_offset`: first message of the timer topic that is not in the wheel; `master_offset`: the same of
    the master that a slave follows.

    `state_version`, `timestamp` (ms), `counter`: version of the file, which slaves compare.
    """

    __slots__ = (
        "_path",
        "counter",
        "exists",
        "master_offset",
        "position",
        "queue_offset",
        "read_time",
        "state_version",
        "timestamp",
    )

    def __init__(self, path: Path) -> None:
        self._path = path
        self.read_time = self.position = self.queue_offset = self.master_offset = 0
        self.state_version = self.timestamp = self.counter = 0
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            raw = b""
        self.exists = len(raw) >= CHECKPOINT.size
        if self.exists:
            (
                self.read_time, self.position, self.queue_offset, self.master_offset,
                self.state_version, self.timestamp, self.counter,
            ) = CHECKPOINT.unpack_from(raw)  # fmt: skip

    def advance(
        self, read_time: int, position: int, queue_offset: int, now: int, taken_before: int = 0
    ) -> None:
        """Take new values over, under a new version if they differ.

        `taken_before`: up to where the timer topic was taken in once, while it is taken in again.
        """
        if (read_time, queue_offset) != (self.read_time, self.queue_offset):
            self.counter += 1
            self.timestamp = now
        self.read_time, self.position = read_time, position
        self.queue_offset, self.master_offset = queue_offset, max(queue_offset, taken_before)

    def encode(self) -> bytes:
        """The numbers as the file holds them, and as answers carry them."""
        return CHECKPOINT.pack(
            self.read_time, self.position, self.queue_offset, self.master_offset,
            self.state_version, self.timestamp, self.counter,
        )  # fmt: skip

    def save(self, encoded: bytes) -> None:
        """Write and sync the file; `encoded` was taken by the owner. For a thread."""
        save_page(self._path, encoded)
