"""How the disk of a store is: whether it takes something, answers, and keeps what it was given."""

from __future__ import annotations

from mqframe.store.appending.refusals import WriteRefusals
from mqframe.store.log.commit_log import CommitLog
from mqframe.store.log.flusher import LogFlusher
from mqframe.store.upkeep.cleaner import Cleaner


class StoreDisk:
    """The disk of one store, as operators and other brokers are told of it."""

    def __init__(
        self, log: CommitLog, cleaner: Cleaner, flusher: LogFlusher, refusals: WriteRefusals
    ) -> None:
        self._log = log
        self._cleaner = cleaner
        self._flusher = flusher
        self._refusals = refusals

    @property
    def refusal(self) -> str:
        """Why the disk takes nothing, whatever copies say; empty normally. It is looked at once a second."""
        return str(self._refusals.own() or self._log.no_room or "")

    @property
    def has_room(self) -> bool:
        """Whether there is room for the next file of the log, as far as that was tried."""
        return not self._log.is_short

    @property
    def waiting_seconds(self) -> float:
        """For how long the disk has owed an answer; 0 while it owes none."""
        return self._flusher.waiting_seconds

    @property
    def trouble(self) -> str:
        """Why what is stored may not be on disk, and what to do; empty normally."""
        return self._log.durability.trouble

    def look(self) -> None:
        """See how full the disk is, and whether the log's next file finds room."""
        self._cleaner.look()
        self._log.look_for_room()

    def distrust(self, what: str, problem: OSError) -> None:
        """A file that is made from the log could not be synced: the next start checks, and writes it anew."""
        self._log.durability.distrust(what, problem)
