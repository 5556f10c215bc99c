"""`mqframe bench` against a running server."""

from __future__ import annotations

from command_runs import read


def test_bench_tells_rates_and_percentiles(at: str) -> None:
    rows = read("bench", "produce", "--count", "50", "--topic", "cli-bench")
    assert [(row["what"], row["messages"]) for row in rows] == [("sync", 50), ("async", 50), ("submit", 50)]
    for row in rows[:2]:
        assert 0 < row["p50_ms"] <= row["p99_ms"] <= row["max_ms"]
        assert row["messages_per_second"] > 0
    (row,) = read("bench", "consume", "--count", "150", "--topic", "cli-bench", "--seconds", "30")
    assert row["messages"] >= 150
