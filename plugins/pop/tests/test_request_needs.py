"""What requests about popped messages need."""

from __future__ import annotations

from mqframe_pop import requests

from mqframe.core.requests import REQUESTS
from mqframe.core.wire.frame import Frame

POPPING = (200050, 200051, 200052, 200053, 200054, 200151)


def of(code: int, ext: dict[str, str] | None = None, body: bytes = b"") -> list[tuple[str, str, str]]:
    assert REQUESTS[code].__module__ == requests.__name__
    found = REQUESTS[code].NEEDS.find(Frame(code, ext=ext, body=body))
    return [(need.resource.value, need.name, "|".join(need.actions)) for need in found]


def test_an_acknowledgement_may_name_a_retry_topic_of_its_group() -> None:
    for code in (200051, 200053):
        for name in ("%RETRY%shop_orders", "%RETRY%shop+orders"):
            both = [("Group", "shop", "Sub"), ("Topic", "orders", "Sub")]
            assert of(code, {"consumerGroup": "shop", "topic": name}) == both
        both = [("Group", "shop", "Sub"), ("Group", "others", "Sub")]
        assert of(code, {"consumerGroup": "shop", "topic": "%RETRY%others"}) == both
        assert of(code) == [("Group", "", "Sub"), ("Topic", "", "Sub")]
    assert of(200050, {"consumerGroup": "shop", "topic": "%RETRY%shop_orders"})[0] == (
        "Group",
        "shop_orders",
        "Sub",
    )


def test_a_batch_names_topics_and_groups_in_its_body() -> None:
    assert of(200151, body=b'{"acks":[{"c":"g","t":"orders"},{"c":"h","t":"others"}]}') == [
        ("Topic", "orders", "Sub"),
        ("Group", "g", "Sub"),
        ("Topic", "others", "Sub"),
        ("Group", "h", "Sub"),
    ]


def test_no_consumer_needs_a_port_for_operators() -> None:
    assert [code for code in POPPING if REQUESTS[code].NEEDS.operators] == []
