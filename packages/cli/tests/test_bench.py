"""`mqframe bench` against a running server."""

from __future__ import annotations

import pytest
from command_runs import read, refused


def test_bench_tells_rates_and_percentiles(at: str) -> None:
    rows = read("bench", "produce", "--count", "50", "--topic", "cli-bench")
    assert [(row["what"], row["messages"]) for row in rows] == [("sync", 50), ("async", 50), ("submit", 50)]
    for row in rows[:2]:
        assert 0 < row["p50_ms"] <= row["p99_ms"] <= row["max_ms"]
        assert row["messages_per_second"] > 0
        assert row["p50_ms"] <= row["p90_ms"] <= row["p99_ms"] <= row["p999_ms"] <= row["max_ms"]
    (row,) = read("bench", "consume", "--count", "150", "--topic", "cli-bench", "--seconds", "30")
    assert row["messages"] >= 150


def test_bench_may_go_on_for_a_time(at: str) -> None:
    rows = read("bench", "produce", "--seconds", "0.3", "--topic", "cli-bench-time", "--mode", "sync,async")
    for row in rows:
        assert row["messages"] > 0
        assert row["seconds"] >= 0.3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("produce", "--seconds", "0"), "numbers at least 1"),
        (("produce", "--mode", "fast"), "--mode must be of sync, async, submit"),
        (("deliver", "--rate", "0"), "--rate and --seconds must be more than 0"),
        (("deliver", "--size", "23"), "--size at least 24"),
    ],
)
def test_what_cannot_be_measured_is_refused(at: str, words: tuple[str, ...], said: str) -> None:
    assert said in refused("bench", *words)


def test_deliver_tells_how_long_messages_are_on_their_way(at: str) -> None:
    words = ("--rate", "100", "--seconds", "0.5", "--topic", "cli-bench-deliver", "--size", "200")
    (row,) = read("bench", "deliver", *words)
    assert (row["what"], row["size"], row["lost"]) == ("deliver", 200, 0)
    assert 1 <= row["messages"] <= 51
    assert 0 < row["p50_ms"] <= row["p99_ms"] <= row["max_ms"]
