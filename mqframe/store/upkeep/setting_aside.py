"""Taking damaged stretches out of a log, with what queues know of them (store.md §4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from mqframe.core.storage.damage import Stretch, bridge, last_data, next_good
from mqframe.core.storage.log_scan import has_empty_sector, read_record
from mqframe.log import get_logger
from mqframe.store.log.commit_log import CommitLog
from mqframe.store.queues.queue_table import QueueTable
from mqframe.store.upkeep.quarantine import LostEntries, Quarantine, QuarantineReport
from mqframe.store.upkeep.queue_flusher import sync_paths

log: Final = get_logger("store")
_QUEUES_TOLD: Final = 20


class SettingAside:
    """Leads queues and readers of one log past what is damaged. `now_ms`: for reports."""

    def __init__(
        self, commit_log: CommitLog, queues: QueueTable, quarantine: Quarantine, now_ms: Callable[[], int]
    ) -> None:
        self._log = commit_log
        self._queues = queues
        self._quarantine = quarantine
        self._now_ms = now_ms

    def reports(self) -> list[QuarantineReport]:
        """What was set aside so far, by log offset."""
        return self._quarantine.reports()

    def listed(self, stretch: Stretch) -> list[LostEntries]:
        """What queues list of `stretch`."""
        found = []
        for queue in self._queues:
            if queue.covered > stretch.start:
                start, end = queue.listed_within(stretch.start, stretch.end)
                if start < end:
                    found.append(LostEntries(queue.topic, queue.queue_id, start, end))
        return found

    def set_aside(self, stretch: Stretch, lost: Sequence[LostEntries], after_ms: int) -> QuarantineReport:
        """Copy `stretch` to the quarantine, make fillers of the entries `lost`, and bridge it in the log.

        In this order, each step on disk before the next: whatever a crash leaves is found once more.
        `after_ms`: store time of the record before. Raises OSError.
        """
        file = self._log.file_at(stretch.start)
        assert file is not None
        at, end = stretch.start - file.base, stretch.end - file.base
        copy = self._quarantine.copy(file.view[at:end], stretch.start)
        report = QuarantineReport(
            stretch.start, stretch.end, stretch.unfinished, copy, self._now_ms(), after_ms, list(lost)
        )
        path = self._quarantine.report(report)
        self._make_fillers(lost)
        for place, data in bridge(file.view, file.base, at, end, after_ms):
            file.write(place, data)
        file.sync()
        log.error(
            "a part of the log holds no good record; set aside, and passed over",
            start=stretch.start,
            end=stretch.end,
            unfinished=stretch.unfinished,
            records=report.records,
            queues=[f"{each.topic}:{each.queue_id}" for each in lost[:_QUEUES_TOLD]],
            report=str(path),
        )
        return report

    def set_aside_record(self, offset: int) -> QuarantineReport | None:
        """Set aside what begins at log `offset`, up to the next good record; `None` when that file is gone.

        Raises OSError.
        """
        file = self._log.file_at(offset)
        if file is None:
            return None
        at, limit = offset - file.base, min(file.size, self._log.end - file.base)
        found = next_good(file, file.base, at, 0)
        end = limit if found is None else min(found, limit)
        following = read_record(file.view, end, file.base + end) if end < file.size else None
        stretch = Stretch(offset, file.base + end, has_empty_sector(file.view, at, end))
        time = 0 if following is None else following.store_timestamp
        return self.set_aside(stretch, self.listed(stretch), time)

    def _make_fillers(self, lost: Sequence[LostEntries]) -> None:
        for each in lost:
            queue = self._queues.queue(each.topic, each.queue_id)
            # The offsets were given away: whoever got these messages must get the next ones, too.
            queue.raise_to(each.end)
            sync_paths(queue.blot(each.start, each.end))

    def keep_tail(self, end: int) -> None:
        """Copy what a cut of the log at `end` takes away, as far as there is anything. Raises OSError."""
        for file in self._log.files:
            at = max(end - file.base, 0)
            if at < file.size and (stop := last_data(file, at)) > at:
                copy = self._quarantine.copy(file.view[at:stop], file.base + at)
                log.warning(
                    "the log ends at an unfinished record; what lay behind is kept", offset=end, copy=copy
                )
