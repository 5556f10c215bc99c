"""What was found damaged in a store, and was taken out of its log, or put right."""

from __future__ import annotations

from typing import Final

from mqframe.log import get_logger
from mqframe.store.reading.mending import Mending
from mqframe.store.upkeep.quarantine import QuarantineReport
from mqframe.store.upkeep.recovery import Recovered
from mqframe.store.upkeep.setting_aside import SettingAside

log: Final = get_logger("store")


class Damage:
    """Notes what the start and reads since found damaged.

    `found`: by the start; `mending`: what reads put right. `reports`: what was ever taken out of the log.
    """

    def __init__(self, setting_aside: SettingAside, mending: Mending, found: Recovered) -> None:
        self._setting_aside = setting_aside
        self._mending = mending
        self._found = found
        self.reports: list[QuarantineReport] = setting_aside.reports()

    def repair(self, offset: int) -> None:
        """Set the record at log `offset` aside, which a read met damaged."""
        log.error("a read met a damaged record", offset=offset)
        report = self._setting_aside.set_aside_record(offset)
        if report is not None:
            self.reports.append(report)

    def replace(self, report: QuarantineReport, done: QuarantineReport) -> None:
        """Note `done` in place of `report`."""
        self.reports[:] = [done if each is report else each for each in self.reports]

    def counters(self) -> dict[str, str]:
        """What was ever taken out of the log because it was damaged, for operators.

        Of queue entries: how many the start, and reads since, found damaged, and those of them that are lost.
        Of records whose heads name a wrong place: how many were found, and those whose place no queue knew.
        """
        found, mending = self._found, self._mending
        lost = [each for report in self.reports for each in report.queues]
        queues = {f"{each.topic}:{each.queue_id}" for each in lost}
        return {
            "setAsideStretches": str(len(self.reports)),
            "setAsideMessages": str(sum(report.records for report in self.reports)),
            "setAsideQueues": " ".join(sorted(queues)),
            "damagedEntries": str(mending.mended + found.without_record + found.odd_tags),
            "lostEntries": str(mending.lost + found.without_record),
            "damagedHeads": str(mending.heads.mended + found.damaged_heads),
            "lostHeads": str(found.lost_heads),
        }
