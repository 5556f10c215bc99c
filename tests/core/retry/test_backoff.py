"""Every wait before something is tried again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.errors import CallTimeout, ConnectError, ConnectionLost, answer_error
from mqframe.core.retry.backoff import Pauses, backoff_seconds, pull_backoff, suspend_seconds


@pytest.mark.parametrize(
    ("tries", "seconds"), [(1, 0.1), (2, 0.16), (3, 0.256), (4, 0.4096), (7, 1.6777216), (8, 2.0), (30, 2.0)]
)
def test_without_jitter(tries, seconds):
    assert backoff_seconds(tries, lambda: 0.5) == pytest.approx(seconds)


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_jitter_is_a_fifth_and_the_cap_holds(tries, random):
    plain = backoff_seconds(tries, lambda: 0.5)
    found = backoff_seconds(tries, lambda: random)
    assert found <= 2.0
    assert found <= plain * 1.2 + 1e-9
    assert found >= min(plain * 0.8, 2.0 * 0.8) - 1e-9


def test_pauses_grow_until_half_of_the_time_is_shorter():
    pauses = Pauses(lambda: 0.5)
    left, found = 1.0, []
    while (pause := pauses.next_pause(left)) is not None:
        found.append(round(pause, 3))
        left -= pause
    assert found == [0.1, 0.16, 0.256, 0.242, 0.121, 0.06]


def test_a_server_that_says_when_is_left_alone_until_then() -> None:
    pauses = Pauses(lambda: 0.5)
    assert pauses.next_pause(3.0, 1.35) == 1.35
    assert pauses.next_pause(3.0, 0.002) == 0.002
    assert pauses.next_pause(3.0, 2.95) == pytest.approx(0.256), "it would be too late: as if it had not said"
    assert pauses.next_pause(0.05, 0.01) is None


@pytest.mark.parametrize(
    ("problem", "seconds"),
    [
        (CallTimeout("late"), 3.0),
        (answer_error(1, None, "a:1"), 3.0),
        (answer_error(215, None, "a:1"), 0.02),
        (answer_error(24, None, "a:1"), 3.0),
    ],
)
def test_a_pull_waits_long_after_an_error_and_short_after_flow_control(problem, seconds) -> None:
    for failures in (1, 2, 100):
        assert pull_backoff(problem, failures, lambda: 0.5) == seconds
        assert pull_backoff(problem, failures, lambda: 0.5, 0.5) == min(seconds, 0.5)
        assert pull_backoff(problem, failures, lambda: 0.5, 0.01) == 0.01
        assert pull_backoff(problem, failures, lambda: 0.5, 60.0) == seconds


@pytest.mark.parametrize(
    "problem",
    [ConnectError("x"), ConnectionLost("x"), answer_error(2, "busy", "a:1"), answer_error(14, "", "a")],
)
def test_a_pull_looks_soon_again_for_a_broker_that_restarts(problem) -> None:
    waits = [pull_backoff(problem, failures, lambda: 0.5) for failures in range(1, 10)]
    assert waits[:7] == pytest.approx([0.1 * 1.6**n for n in range(7)])
    assert waits[7:] == [3.0, 3.0]
    assert pull_backoff(problem, 7, lambda: 0.5, 0.5) == 0.5


@pytest.mark.parametrize(
    ("wanted", "seconds"),
    [(None, 1.0), (-1, 1.0), (0, 0.01), (5, 0.01), (250, 0.25), (30_000, 30.0), (60_000, 30.0)],
)
def test_pause_after_a_failure(wanted: float | None, seconds: float) -> None:
    assert suspend_seconds(wanted, 1000) == seconds
