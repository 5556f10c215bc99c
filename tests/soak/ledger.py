"""What was sent, what was promised, and what came: the books of a day, in little memory."""

from __future__ import annotations

from collections import Counter
from enum import IntEnum
from typing import NamedTuple

from mqframe_testing.simulation import SimulatedClock
from soak.timeline import Timeline

LATE_SECONDS_MAX = 150.0
"""A minute of a broker that is away, its clients' way back, and the slots of the timer."""
EARLY_SECONDS_MAX = 0.05
"""What rounding to milliseconds may take from a delay."""
SHOWN = 5


class State(IntEnum):
    """Of one message."""

    UNSURE = 0
    PROMISED = 1
    CAME = 2
    NEVER = 3


class Open(NamedTuple):
    """A message that is promised and has not come.

    `due_ms`: wall time before which it may not come, unless `wait_seconds` have passed since `sent_at`
    (monotonic): a delay is over when it is over, whatever the clock shows. `stored_by`: when the broker said
    that it has it.
    """

    kind: str
    due_ms: int
    sent_at: float
    wait_seconds: float
    stored_by: float = float("inf")


class Ledger:
    """Numbers every message; bodies follow from number, kind and what else they say."""

    def __init__(self, clock: SimulatedClock, timeline: Timeline) -> None:
        self._clock = clock
        self._timeline = timeline
        self._states = bytearray()
        self._last_of_key: dict[str, int] = {}
        self.open: dict[int, Open] = {}
        self.waiting: dict[int, Open] = {}
        self.findings: list[str] = []
        self.sent: Counter[str] = Counter()
        self.came: Counter[str] = Counter()
        self.again: Counter[str] = Counter()

    def new(
        self, kind: str, more: str = "", due_ms: int = 0, wait_seconds: float = float("inf")
    ) -> tuple[int, bytes]:
        """The next message: its number and its body. It may be stored from now on, or not."""
        number = len(self._states)
        self._states.append(State.UNSURE)
        self.waiting[number] = Open(kind, due_ms, self._clock.monotonic(), wait_seconds)
        self.sent[kind] += 1
        return number, body_of(number, kind, more)

    def promised(self, number: int) -> None:
        """The broker said that it has the message."""
        told = self.waiting.pop(number)
        if self._states[number] == State.UNSURE:
            self._states[number] = State.PROMISED
            self.open[number] = told._replace(stored_by=self._clock.monotonic())

    def unsure(self, number: int) -> None:
        """Nobody knows whether the broker has it."""
        self.waiting.pop(number)

    def never(self, number: int) -> None:
        """It was rolled back, or is to be: it may not come."""
        self._states[number] = State.NEVER

    def arrived(self, body: bytes, kinds: tuple[str, ...]) -> tuple[int, str, str]:
        """A consumer of `kinds` got `body`. Returns its number, kind and what else it says."""
        try:
            words = body.split(b"|")
            number, kind, more = int(words[0]), words[1].decode(), words[2].decode()
        except (ValueError, IndexError):
            self.find(f"unknown message {body[:60]!r}")
            return -1, "", ""
        if number >= len(self._states) or body != body_of(number, kind, more) or kind not in kinds:
            self.find(f"message {body[:60]!r} is not what was sent")
            return -1, kind, more
        state = self._states[number]
        if state == State.NEVER:
            self.find(f"message {number} ({kind}) was rolled back, and came")
        elif state == State.CAME:
            self.again[kind] += 1
        else:
            self._states[number] = State.CAME
            self.came[kind] += 1
            told = self.open.pop(number, None) or self.waiting.get(number)
            if told is not None:
                self._check_time(number, told)
        return number, kind, more

    def _check_time(self, number: int, told: Open) -> None:
        now = self._clock.monotonic()
        over = now - told.sent_at >= told.wait_seconds - EARLY_SECONDS_MAX
        excused = over or self._timeline.excuses_early(told.sent_at, told.stored_by, now)
        excused = excused or self._timeline.carried_on(told.due_ms, told.sent_at, now)
        if told.due_ms and not excused and not self._timeline.came(told.due_ms, told.sent_at, now):
            self.find(f"message {number} ({told.kind}) came {told.due_ms - self._clock.now_ms()} ms early")
        since = told.sent_at
        if told.due_ms:
            # Where the clock was set meanwhile, a delay may count from either end: by the clock, or as it is.
            waited = told.sent_at + told.wait_seconds if told.wait_seconds < float("inf") else since
            since = max(waited, self._timeline.over_since(told.due_ms, now))
        if now - since > LATE_SECONDS_MAX:
            self.find(f"message {number} ({told.kind}) came {now - since:.0f} s late")

    def in_order(self, number: int, key: str, sequence: int) -> None:
        """Message `sequence` of `key` came first now: those before it came, or were never promised."""
        last = self._last_of_key.get(key, -1)
        if sequence > last:
            self._last_of_key[key] = sequence
        elif sequence < last and self._first_time(number):
            self.find(f"message {sequence} of {key} came for the first time after {last}")

    def _first_time(self, number: int) -> bool:
        return self._states[number] != State.CAME

    def find(self, what: str) -> None:
        """Note what is wrong."""
        self.findings.append(f"{self._clock.monotonic():.0f} s: {what}")

    def missing(self) -> list[str]:
        """What is promised and has not come, shortly."""
        kinds = Counter(each.kind for each in self.open.values())
        shown = [f"{number} {each}" for number, each in list(self.open.items())[:SHOWN]]
        return [f"{count} of {kind} did not come: {shown}" for kind, count in kinds.items()]


def body_of(number: int, kind: str, more: str) -> bytes:
    """A body that tells what it is, of a length of its own."""
    return f"{number}|{kind}|{more}|".encode() + b"." * (number * 7919 % 600)
