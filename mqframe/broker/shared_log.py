"""What store and tables of a broker heed when others have the same log."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mqframe.core.clock import Clock
from mqframe.core.consuming.offset_table import OffsetTable
from mqframe.core.storage.replicas import Replicas
from mqframe.store.copy_parts import MakeCopy


class SharedLog(NamedTuple):
    """Without anything: nobody else has the log.

    `replicas`: what has to have a message besides the disk, before it counts. `offsets`: makes the table of
    how far groups are. `copy`: makes what the log of a slave is written by.
    """

    replicas: Replicas | None = None
    offsets: Callable[[Clock], OffsetTable] = OffsetTable
    copy: MakeCopy | None = None
