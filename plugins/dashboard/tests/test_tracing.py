"""Bars of what was traced of a message."""

from __future__ import annotations

from enum import Enum
from types import SimpleNamespace
from typing import Any

from mqframe_dashboard.tracing import FAILED, OK, OPEN, Bar, Timeline, bars_of


class Kind(Enum):
    PUB = "Pub"
    BEFORE = "SubBefore"
    AFTER = "SubAfter"
    END = "EndTransaction"
    RECALL = "Recall"


def record(kind: Kind, **fields: Any) -> Any:
    known = {
        "time_ms": 0, "cost_ms": 0, "group": "shop", "client_host": "10.0.0.1", "success": True,
        "request_id": "", "retry_times": 0, "transaction_state": "",
    }  # fmt: skip
    return SimpleNamespace(kind=kind, **(known | fields))


def test_a_message_is_produced_stored_and_consumed():
    records = [
        record(Kind.BEFORE, time_ms=1020, request_id="r1", group="billing", client_host="10.0.0.2"),
        record(Kind.PUB, time_ms=1000, cost_ms=8),
        record(Kind.AFTER, time_ms=1050, request_id="r1", cost_ms=30, success=False),
        record(Kind.BEFORE, time_ms=1100, request_id="r2", group="billing", retry_times=1),
    ]
    assert bars_of(records, 1004, "broker-a") == [
        Bar("produced", "shop at 10.0.0.1", 1000, 1008, OK),
        Bar("stored", "broker-a", 1004, 1004, OK),
        Bar("consumed", "billing at 10.0.0.2", 1020, 1050, FAILED),
        Bar("consumed, retry 1", "billing at 10.0.0.1", 1100, 1100, OPEN),
    ]


def test_an_end_without_a_beginning_and_other_kinds_are_shown():
    records = [
        record(Kind.AFTER, time_ms=500, cost_ms=100, group=""),
        record(Kind.END, time_ms=600, transaction_state="COMMIT_MESSAGE"),
        record(Kind.RECALL, time_ms=700, success=False),
    ]
    assert bars_of(records) == [
        Bar("consumed", "10.0.0.1", 400, 500, OK),
        Bar("COMMIT_MESSAGE told", "shop at 10.0.0.1", 600, 600, OK),
        Bar("recalled", "shop at 10.0.0.1", 700, 700, FAILED),
    ]


def test_bars_lie_on_one_line():
    bars = [Bar("a", "", 1000, 1500), Bar("b", "", 1250, 1250, OPEN), Bar("c", "", 2000, 2000, FAILED)]
    line = Timeline("Way", bars)
    assert (line.begin, line.end, line.took) == (1000, 2000, 1000)
    assert [line.place(each) for each in bars] == [("0.0", "497.0"), ("248.5", "6.0"), ("994.0", "6.0")]
    assert [line.said(each) for each in bars] == [
        "after 0 ms, took 500 ms",
        "after 250 ms, took 0 ms, its end was not told",
        "after 1,000 ms, took 0 ms, failed",
    ]


def test_one_moment_is_a_line_too():
    line = Timeline("Way", [Bar("a", "", 7, 7)])
    assert line.place(line.bars[0]) == ("0.0", "6.0")
    assert Timeline("Way", []).took == 0
