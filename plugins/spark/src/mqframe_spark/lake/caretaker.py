"""Upkeep beside a dispatcher's own work: a little after each command, and no hindrance when it fails."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from mqframe.core.errors import MqframeError
from mqframe.log import get_logger
from mqframe_spark.lake.parquet_options import ParquetOptions
from mqframe_spark.lake.upkeep import Crowd, Upkeep, UpkeepBusy

log: Final = get_logger("spark")
LOOK_SECONDS: Final = 60.0
"""So often crowds are looked for."""
VACUUM_SECONDS: Final = 86_400.0
"""So often old files are."""


class Caretaker:
    """Does what `options` say of `upkeep`, one merge at a time.

    `monotonic`: seconds, from an arbitrary start; `now`: tells which day is not over.
    """

    def __init__(
        self,
        upkeep: Upkeep,
        options: ParquetOptions,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._upkeep = upkeep
        self._options = options
        self._monotonic = monotonic
        self._now = now
        self._look_at = self._vacuum_at = monotonic() + LOOK_SECONDS
        self._crowds: deque[Crowd] = deque()

    def step(self) -> None:
        """Do a little, when it is time. What fails is logged, and tried again after a while."""
        try:
            if self._options.vacuum_hours and self._monotonic() >= self._vacuum_at:
                self._vacuum_at = self._monotonic() + VACUUM_SECONDS
                gone = self._upkeep.vacuum(self._options.vacuum_hours, dry_run=False)
                log.debug("old files removed", files=len(gone))
            elif self._options.compact_files:
                self._compact()
        except UpkeepBusy as problem:
            self._crowds.clear()
            log.debug("files are put together elsewhere", problem=str(problem))
        except (OSError, MqframeError) as problem:
            log.warning("files could not be tidied up", problem=f"{type(problem).__name__}: {problem}")

    def _compact(self) -> None:
        if self._crowds:
            crowd = self._crowds.popleft()
            fewer = self._upkeep.merge(crowd)
            if fewer > 0:
                log.debug("put together", topic=crowd.topic, day=crowd.day, fewer=fewer)
                self._crowds.append(crowd)
        elif self._monotonic() >= self._look_at:
            self._look_at = self._monotonic() + LOOK_SECONDS
            today = self._now().strftime("%Y-%m-%d")
            self._crowds.extend(self._upkeep.crowds(today, self._options.compact_files))
