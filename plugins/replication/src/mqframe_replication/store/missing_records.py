"""What was taken out of the middle of a copied log, until the master's bytes are back in its place."""

from __future__ import annotations

from operator import attrgetter

from mqframe.core.errors import StoreError
from mqframe.core.os_errors import told
from mqframe.store.appending.dispatching import Dispatching
from mqframe.store.message_files import MessageFiles
from mqframe.store.queues.consume_queue import FILLER_SIZE
from mqframe.store.reading.search import Search
from mqframe.store.upkeep.damage import Damage
from mqframe.store.upkeep.quarantine import QuarantineReport
from mqframe_replication.store.putting_back import PuttingBack


class MissingRecords:
    """Stretches of the log that were damaged, and that the master may have.

    `kept_from`: log offset of the oldest byte that the master keeps, as it said last; 0 before.
    """

    def __init__(
        self,
        files: MessageFiles,
        search: Search,
        damage: Damage,
        dispatch: Dispatching,
        putting_back: PuttingBack,
    ) -> None:
        self._log, self._queues, _, _ = files
        self._search = search
        self._damage = damage
        self._dispatch = dispatch
        self._putting_back = putting_back
        self.kept_from = 0
        self._known = -1
        self._missing: list[QuarantineReport] = []

    def reports(self) -> list[QuarantineReport]:
        """What was taken out of the middle of this log, by log offset, and was not put back since."""
        if len(self._damage.reports) != self._known:
            self._known = len(self._damage.reports)
            self._missing = sorted(self._damage.reports, key=attrgetter("start"))
        if self._missing:
            self._missing = [each for each in self._missing if self._putting_back.is_missing(each)]
        return self._missing

    def needed(self) -> list[QuarantineReport]:
        """What of `reports` the master has."""
        return [report for report in self.reports() if report.end > self.kept_from]

    def put_back(self, report: QuarantineReport, data: bytes) -> None:
        """Write `data`, what the master has there, into the stretch that `report` is about.

        Raises `StoreError` for what is not whole records, or when the disk fails.
        """
        self._dispatch.now()
        try:
            done = self._putting_back.put_back(report, data)
        except OSError as problem:
            raise StoreError(f"what was fetched again cannot be written: {told(problem)}") from problem
        self._damage.replace(report, done)
        self._known = -1

    def last_record(self) -> tuple[int, bytes] | None:
        """Log offset and bytes of the last record that is not missing; `None` where there is none.

        For comparison with the master's.
        """
        missing = {report.start for report in self.reports()}
        for file in reversed(self._log.files):
            at, found = self._listed_last(file.base), None
            while at < file.base + file.size and (there := self._search.find(at)) is not None:
                at = there[0].end
                found = found if there[0].physical_offset in missing else there
            if found is not None:
                return found[0].physical_offset, bytes(found[1])
        return None

    def _listed_last(self, base: int) -> int:
        """Where the last record begins that queues list in the log file at `base`; `base` where none is."""
        last = (queue.entry(queue.end - 1) for queue in self._queues)
        places = (entry[0] for entry in last if entry is not None and entry[1] != FILLER_SIZE)
        place = max((each for each in places if base <= each < base + self._log.file_bytes), default=base)
        return base if self._search.find(place) is None else place
