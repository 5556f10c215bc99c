"""Quotas as they travel and are saved."""

from __future__ import annotations

from mqframe_quotas.bodies import QuotaState
from mqframe_quotas.rules.limits import Quota


def test_people_are_shown_a_row_for_each_limit() -> None:
    state = QuotaState(
        quota=Quota(kind="user", name="alice", send_messages=5, connections=2),
        broker="broker-a",
        kept=True,
        used={"send_messages": 7},
        throttled={"send_messages": 1},
        in_use={"connections": 2},
    )
    place = {"kind": "user", "name": "alice", "broker": "broker-a", "from": "set"}
    assert state.rows() == [
        {**place, "limit": "send_messages", "most": 5, "used": 7, "throttled": 1},
        {**place, "limit": "connections", "most": 2, "used": 2, "throttled": 0},
    ]


def test_a_quota_without_limits_has_a_row_too() -> None:
    state = QuotaState(quota=Quota(kind="topic", name="orders"), broker="broker-a", kept=False)
    (row,) = state.rows()
    assert (row["limit"], row["most"], row["used"], row["from"]) == ("", None, 0, "settings")
