"""What a member knows of the snapshots of one topic, and which of them counts."""

from __future__ import annotations

from collections.abc import Iterable

from mqframe.core.clock import Clock
from mqframe.core.errors import BodyError
from mqframe.log import get_logger
from mqframe_lagaware.snapshot import LagSnapshot, Note, read_note

log = get_logger("client")


class TopicState:
    """The newest note of `topic` that was seen. A new snapshot counts from the time on that it names.

    That is the publisher's time: where clocks are wrong, a snapshot counts `lead_seconds` after the member
    saw it at the latest, so that members differ for seconds and not for as long as clocks do.
    """

    def __init__(self, topic: str, lead_seconds: float, clock: Clock) -> None:
        self._topic = topic
        self._lead = lead_seconds
        self._clock = clock
        self.note: Note | None = None
        self.in_force: LagSnapshot | None = None
        self._since = clock.monotonic()

    def see(self, texts: Iterable[str]) -> str | None:
        """Take what name servers keep ("": nothing). The text that those lack who know less than we do."""
        found = [self._read(text) for text in texts]
        newest = max((note for note in found if note is not None), key=lambda note: note.order, default=None)
        # Of the same epoch the one counts that is kept now: all who look from now on see it.
        if newest is not None and (self.note is None or newest.newest.epoch >= self.note.newest.epoch):
            self.keep(newest)
        if self.note is None or all(note == self.note for note in found):
            return None
        return self.note.text()

    def _read(self, text: str) -> Note | None:
        try:
            return read_note(text, self._topic) if text else None
        except BodyError as problem:
            log.warning("snapshot of lags is left out", topic=self._topic, reason=str(problem))
            return None

    def keep(self, note: Note) -> None:
        """`note` is the newest there is."""
        if note != self.note:
            self.note = note
            self._since = self._clock.monotonic()

    def nothing_new(self) -> None:
        """Lags were looked at, and there is nothing to say."""
        self._since = self._clock.monotonic()

    def unchanged_seconds(self) -> float:
        """How long the newest note is known, or how long there is none; s."""
        return self._clock.monotonic() - self._since

    def advance(self) -> float | None:
        """Put in force what is due. In how many seconds the next snapshot counts; `None`: there is none."""
        if self.note is None:
            return None
        wait = self._wait(self.note.newest)
        if wait <= 0:
            self.in_force = self.note.newest
            return None
        if len(self.note.snapshots) > 1:
            before = self.note.snapshots[-2]
            if self.in_force is None or self.in_force.epoch <= before.epoch:
                self.in_force = before
        return wait

    def _wait(self, snapshot: LagSnapshot) -> float:
        if self.in_force == snapshot:
            return 0.0
        by_the_clock = (snapshot.from_ms - self._clock.now_ms()) / 1000
        return min(by_the_clock, self._lead - self.unchanged_seconds())
