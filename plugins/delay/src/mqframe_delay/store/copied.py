"""The timer's files of a slave: nothing but how far its master's timer was."""

from __future__ import annotations

import shutil
from pathlib import Path

from mqframe.core.errors import BadAnswer
from mqframe.store.files.layout import Layout
from mqframe_delay.rules.timer_layout import CHECKPOINT
from mqframe_delay.store.checkpoint import TimerCheckpoint


def followed(encoded: bytes) -> bytes:
    """The check point of a slave, after that of its master.

    The slave has no wheel: one that becomes master takes the timer topic in from its start, and what is due
    before the read time, among what the master had taken in, counts as delivered. Raises `BadAnswer`.
    """
    if len(encoded) < CHECKPOINT.size:
        raise BadAnswer(
            f"the timer's check point of the master has {len(encoded)} bytes, not {CHECKPOINT.size}"
        )
    read_time, _, taken_in, _, state_version, timestamp, counter = CHECKPOINT.unpack_from(encoded)
    return CHECKPOINT.pack(read_time, 0, 0, taken_in, state_version, timestamp, counter)


def save_followed(root: Path, encoded: bytes) -> None:
    """Keep the check point `encoded` of the store below `root`, and no wheel of an earlier time as master.

    For a thread. Raises OSError.
    """
    layout = Layout(root)
    # The check point last: one that names a log which is not there has the timer built anew.
    layout.timer_wheel.unlink(missing_ok=True)
    if layout.timer_log.exists():
        shutil.rmtree(layout.timer_log)
    TimerCheckpoint(layout.timer_checkpoint).save(encoded)
