"""Bytes of the timer's files: slots of the wheel, units of the log, the checkpoint.

Source: TimerWheel.java, Slot.java, TimerLog.java, TimerCheckpoint.java.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

SLOTS: Final = 2 * 7 * 86_400
"""Slots of a wheel, whatever its precision."""
SLOT: Final = struct.Struct(">qqqii")
"""number of the slot's time (time / precision), first and last log position (bytes), count, unused."""

UNIT: Final = struct.Struct(">iqiqiqiiq")
"""size, previous position of the slot (bytes, -1: none), magic, write time (ms), ms from it to the slot's
time, commit-log offset and size of the record (bytes), hash of its topic, unused."""

BLANK: Final = struct.Struct(">iqi")
BLANK_MAGIC: Final = struct.unpack(">i", (0xBBCCDDEE ^ (1880681586 + 8)).to_bytes(4, "big"))[0]
"""Marks the unused end of a log file: {i32 bytes left, i64 0, i32 this}."""

MAGIC_PLAIN: Final = 1
MAGIC_ROLL: Final = 2
MAGIC_DELETE: Final = 4
_MAGIC_BITS: Final = 0xF

CHECKPOINT: Final = struct.Struct(">qqqqqqq")
"""last read time (ms), log position (bytes), timer queue offset (records), the master's, then the version:
state, timestamp (ms), counter."""


class Unit(NamedTuple):
    """One message in the timer log. `time`: of its slot, ms; `previous`: where the slot's last unit was."""

    previous: int
    magic: int
    write_time: int
    time: int
    log_offset: int
    size: int
    topic_hash: int = 0

    @property
    def rolls(self) -> bool:
        """Whether the message is due later than its slot's time, and has to wait once more then."""
        return bool(self.magic & MAGIC_ROLL)

    @property
    def recalls(self) -> bool:
        """Whether it is no message of its own, but takes back another one of its slot."""
        return self.magic & (MAGIC_ROLL | MAGIC_DELETE) == MAGIC_DELETE

    def encode(self) -> bytes:
        """The unit as the log holds it."""
        return UNIT.pack(
            UNIT.size, self.previous, self.magic, self.write_time, self.time - self.write_time,
            self.log_offset, self.size, self.topic_hash, 0,
        )  # fmt: skip


def decode_unit(raw: bytes, at: int = 0) -> Unit | None:
    """The unit at byte `at`; `None` when the bytes are not one."""
    if len(raw) - at < UNIT.size:
        return None
    size, previous, magic, write_time, delay, log_offset, record_size, topic_hash, _ = UNIT.unpack_from(
        raw, at
    )
    if size != UNIT.size or magic & ~_MAGIC_BITS or record_size <= 0 or log_offset < 0:
        return None
    return Unit(previous, magic, write_time, write_time + delay, log_offset, record_size, topic_hash)


def is_blank(raw: bytes, at: int) -> bool:
    """Whether the unused end of a log file begins at byte `at`."""
    return len(raw) - at >= BLANK.size and BLANK.unpack_from(raw, at)[2] == BLANK_MAGIC
