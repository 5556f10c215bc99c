"""The books of a day see what they are for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from mqframe_testing.simulation import SimulatedLoop
from mqframe_testing.simulation.clock import START_MS
from soak.ledger import LATE_SECONDS_MAX, Ledger
from soak.timeline import Timeline

HOUR_MS = 3_600_000


class Scene:
    """A ledger whose time a test moves."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self._clock = loop.clock
        self.ledger = Ledger(self._clock, Timeline(START_MS))

    def later(self, seconds: float) -> None:
        self._loop.run_until_complete(self._clock.advance(seconds))


@pytest.fixture
def scene() -> Iterator[Scene]:
    loop = SimulatedLoop()
    asyncio.set_event_loop(loop)
    yield Scene(loop)
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture
def ledger(scene: Scene) -> Ledger:
    return scene.ledger


def test_a_message_comes_once_as_it_was_sent(ledger: Ledger) -> None:
    number, body = ledger.new("normal")
    ledger.promised(number)
    assert "1 of normal did not come" in ledger.missing()[0]
    assert ledger.arrived(body, ("normal",)) == (number, "normal", "")
    ledger.arrived(body, ("normal",))
    assert (ledger.came["normal"], ledger.again["normal"]) == (1, 1)
    assert ledger.findings == ledger.missing() == []


def test_what_was_not_sent_so_is_told(ledger: Ledger) -> None:
    _, body = ledger.new("normal")
    for wrong in (body + b".", b"7|normal||", b"noise", b"x|y|z"):
        ledger.arrived(wrong, ("normal",))
    ledger.arrived(body, ("batch",))
    assert len(ledger.findings) == 5


def test_what_was_rolled_back_may_not_come(ledger: Ledger) -> None:
    number, body = ledger.new("tx")
    ledger.never(number)
    ledger.promised(number)
    assert ledger.missing() == []
    ledger.arrived(body, ("tx",))
    assert ["was rolled back" in found for found in ledger.findings] == [True]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(59.0, "early"), (60.0, None), (60.0 + LATE_SECONDS_MAX, None), (61.0 + LATE_SECONDS_MAX, "late")],
)
def test_what_comes_early_or_late_is_told(scene: Scene, seconds: float, words: str | None) -> None:
    ledger = scene.ledger
    number, body = ledger.new("timer", "", START_MS + 60_000)
    ledger.promised(number)
    scene.later(seconds)
    ledger.arrived(body, ("timer",))
    assert [words in found for found in ledger.findings] == ([] if words is None else [True])


def test_a_delay_is_over_after_its_time_whatever_the_clock_shows(scene: Scene) -> None:
    ledger = scene.ledger
    for number, body in [ledger.new("level", "", START_MS + HOUR_MS, 60.0) for _ in range(2)]:
        ledger.promised(number)
        scene.later(59.0)
        ledger.arrived(body, ("level",))
        scene.later(1.0)
    assert ["early" in found for found in ledger.findings] == [True]


def test_the_first_times_of_a_key_are_in_order(ledger: Ledger) -> None:
    made = [ledger.new("ordered", f"k/{sequence}") for sequence in range(4)]
    for number, sequence in ((0, 0), (2, 2), (0, 0), (2, 2), (1, 1), (3, 3)):
        ledger.in_order(made[number][0], "k", sequence)
        ledger.arrived(made[number][1], ("ordered",))
    assert ["message 1 of k came for the first time after 2" in found for found in ledger.findings] == [True]


def test_wall_time_is_known_through_its_jumps() -> None:
    timeline = Timeline(0)
    timeline.jumped(100.0, HOUR_MS)
    due = HOUR_MS + 120_000
    assert timeline.over_since(due, 150.0) == 120.0
    timeline.jumped(160.0, 0)
    assert not timeline.came(due, 0.0, 119.0)
    assert timeline.came(due, 0.0, 121.0)
    assert timeline.came(due, 0.0, 500.0)
    assert not timeline.came(due, 161.0, 500.0)
    assert timeline.over_since(due, 500.0) == 500.0
    assert timeline.over_since(50_000, 500.0) == 50.0
    assert timeline.last_jump == 160.0


def test_only_what_a_clock_ahead_stored_before_a_restart_may_come_early() -> None:
    timeline = Timeline(0)
    timeline.jumped(100.0, HOUR_MS)
    timeline.jumped(160.0, 0)
    assert not timeline.excuses_early(120.0, 121.0, 200.0)
    timeline.restarted(250.0)
    assert not timeline.excuses_early(50.0, 99.0, 300.0)
    assert timeline.excuses_early(120.0, 121.0, 300.0)
    assert timeline.excuses_early(50.0, 101.0, 300.0)
    assert timeline.excuses_early(50.0, float("inf"), 300.0)
    assert not timeline.excuses_early(120.0, 121.0, 240.0)
    assert not timeline.excuses_early(200.0, 201.0, 300.0)
    assert not timeline.excuses_early(260.0, 261.0, 300.0)
    timeline.restarted(9000.0)
    assert timeline.excuses_early(120.0, 121.0, 9100.0)
    assert not timeline.excuses_early(8000.0, 8001.0, 9100.0)
    timeline.jumped(9200.0, -HOUR_MS)
    timeline.restarted(9300.0)
    assert timeline.excuses_early(9150.0, 9151.0, 9400.0)


def test_the_clock_of_a_start_may_be_gone_by_after_it_was_set_back() -> None:
    timeline = Timeline(0)
    timeline.jumped(100.0, 2000)
    timeline.restarted(110.0)
    timeline.jumped(120.0, 0)
    due = 200_000
    assert timeline.carried_on(due, 50.0, 198.0)
    assert not timeline.carried_on(due, 50.0, 197.0)
    assert not timeline.carried_on(due, 115.0, 198.0)
