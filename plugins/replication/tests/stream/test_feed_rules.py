"""Whom a master takes at its replication port, and what it says."""

from __future__ import annotations

from master_port import HELLO, LIMITS, Log
from mqframe_replication.rules.feed import DueBytes, Feed
from mqframe_replication.rules.hello import Welcome
from mqframe_replication.rules.stream import encode_report, frame_head
from mqframe_replication.stream.feed_rules import MasterRules


def test_a_master_takes_whoever_is_admitted_and_says_where_its_log_lies() -> None:
    rules = MasterRules(Log(bytes(250)), lambda: None)
    for hello in (None, HELLO):
        assert rules.objection(hello) == ""
        assert rules.framing(hello).head(DueBytes(1000, 7)) == frame_head(1000, 7)
    assert rules.welcome(HELLO) == Welcome(start=1000, end=1250)


def test_reports_and_departures_are_passed_on_and_nobody_is_sent_anything_for_them() -> None:
    happened: list[str] = []
    rules = MasterRules(Log(bytes(250)), lambda: happened.append("report"))
    feed = Feed(LIMITS, 0, rules.framing(None))
    rules.joined(None)
    assert happened == []
    feed.hear(encode_report(1100), 1000, 1250, 0)
    assert rules.heard(None, feed) is None
    rules.left(None)
    assert happened == ["report", "report"]
