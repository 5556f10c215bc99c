"""What requests need: every kind says so."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from request_kinds import ROCKETMQ_S

from mqframe.core.errors import BodyError
from mqframe.core.requests import REQUESTS
from mqframe.core.requests.needs import (
    UNDECLARED,
    Action,
    Need,
    Resource,
    all_groups,
    all_topics,
    brokers,
    cluster,
    group,
    signed,
    topic,
)
from mqframe.core.wire.frame import Frame

PLUGINS = Path(__file__).parents[3] / "plugins"


def of(code: int, ext: dict[str, str] | None = None, body: bytes = b"") -> list[tuple[str, str, str]]:
    found = REQUESTS[code].NEEDS.find(Frame(code, ext=ext, body=body))
    return [(need.resource.value, need.name, "|".join(need.actions)) for need in found]


def test_every_request_says_what_it_needs() -> None:
    for path in PLUGINS.glob("*/src/*/requests.py"):
        importlib.import_module(f"{path.parent.name}.requests")
    ours = [kind for kind in REQUESTS.values() if kind.__module__.split(".")[0].startswith("mqframe")]
    assert len(ours) > 100
    silent = [kind.__name__ for kind in ours if kind.NEEDS is UNDECLARED]
    assert silent == [], "give @request(…, needs=…) to these"


def test_who_declares_nothing_needs_the_cluster() -> None:
    assert UNDECLARED.find(Frame(1)) == [Need(Resource.CLUSTER, "", (Action.UPDATE,))]
    assert UNDECLARED.operators
    assert UNDECLARED.changes


def test_header_fields_name_topics_and_groups() -> None:
    both = topic(Action.SUB) & group(Action.SUB, Action.GET)
    assert both.find(Frame(1, ext={"topic": "orders", "consumerGroup": "shop"})) == [
        Need(Resource.TOPIC, "orders", (Action.SUB,)),
        Need(Resource.GROUP, "shop", (Action.SUB, Action.GET)),
    ]
    assert topic(Action.SUB).find(Frame(1)) == [Need(Resource.TOPIC, "", (Action.SUB,))]
    assert topic(Action.SUB, optional=True).find(Frame(1, ext={"topic": ""})) == []
    assert signed().find(Frame(1)) == []


def test_a_retry_topic_is_its_group() -> None:
    for name in ("%RETRY%shop", "%RETRY%%DLQ%shop"):
        assert topic(Action.PUB).find(Frame(1, ext={"topic": name})) == [
            Need(Resource.GROUP, "shop", (Action.PUB,))
        ]
    assert of(310, {"a": "mine", "b": "%RETRY%theirs"}) == [("Group", "theirs", "Pub")]


def test_operators_are_those_who_change_or_ask_for_the_cluster() -> None:
    for needs in (topic(Action.DELETE), group(Action.CREATE), cluster(Action.UPDATE)):
        assert needs.operators
        assert needs.changes
    assert cluster(Action.GET).operators
    assert not cluster(Action.GET).changes
    for needs in (
        topic(Action.SUB, Action.UPDATE),
        brokers(),
        all_topics(Action.LIST),
        all_groups(Action.LIST),
    ):
        assert not needs.operators
        assert not needs.changes
    assert (topic(Action.GET) & group(Action.UPDATE)).changes


def test_no_slave_needs_a_port_for_operators() -> None:
    """What slaves ask of their masters (replication.md §1.5, §3)."""
    asked = (21, 28, 33, 43, 45, 60, 61, 201, 402, 906)
    assert [code for code in asked if ROCKETMQ_S[code].NEEDS.operators] == []


def test_no_client_needs_a_port_for_operators() -> None:
    """What producers and consumers of every kind send."""
    sent = "10 11 14 15 29 30 31 32 34 35 36 37 38 41 42 46 105 106 310 320 324 325 361 370 400 21320"
    assert [code for code in sent.split() if ROCKETMQ_S[int(code)].NEEDS.operators] == []
    changing = (
        "17 18 25 100 102 200 205 207 215 216 217 222 225 318 327 353 401 3001 3002 3003 3006 3007 3008"
    )
    assert [code for code in changing.split() if not ROCKETMQ_S[int(code)].NEEDS.changes] == []


def test_a_body_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(BodyError):
        of(34, body=b"{")
