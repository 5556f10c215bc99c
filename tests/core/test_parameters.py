"""Which parameters a server of some version would pass over."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest
from mqframe_admin.requests import InvokeBrokerToResetOffset

from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.parameters import OURS, Since, needed, parameters, understands
from mqframe.core.versions import version_number


class Asked(msgspec.Struct, rename="camel"):
    name: str
    of_five: Annotated[int | None, Since("5.0.0", (-1,))] = None
    hint: Annotated[str | None, Since("5.3.0", alters=False)] = None
    more: Annotated[bool | None, OURS] = None
    steps: Annotated[list[int], Since("5.1.3")] = msgspec.field(default_factory=lambda: [1])


def test_the_fields_that_came_later_are_known_with_their_wire_names() -> None:
    found = [(each.name, each.wire_name, each.default, each.since.version) for each in parameters(Asked)]
    assert found == [
        ("of_five", "ofFive", None, "5.0.0"),
        ("hint", "hint", None, "5.3.0"),
        ("more", "more", None, ""),
        ("steps", "steps", [1], "5.1.3"),
    ]


@pytest.mark.parametrize(
    ("sent", "names"),
    [
        (Asked("a"), []),
        (Asked("a", -1, "hint", True, [1]), []),
        (Asked("a", 0), ["of_five"]),
        (Asked("a", 3, steps=[]), ["of_five", "steps"]),
    ],
)
def test_only_values_that_ask_for_something_else_need_a_version(sent: Asked, names: list[str]) -> None:
    assert [each.name for each in needed(sent)] == names
    assert understands(version_number("5.1.3"), sent)
    assert understands(0, sent) is (not names)


def test_each_field_counts_from_its_own_version() -> None:
    config = SubscriptionGroupConfig("g", consume_message_orderly=True, attributes={"a": "b"})
    assert understands(version_number("5.1.3"), config)
    assert not understands(version_number("5.1.2"), config)
    assert understands(version_number("5.0.0"), SubscriptionGroupConfig("g", consume_message_orderly=True))
    assert understands(version_number("4.9.7"), SubscriptionGroupConfig("g", retry_max_times=3))


def test_a_reset_of_all_queues_is_understood_by_all() -> None:
    assert understands(0, InvokeBrokerToResetOffset("t", "g", 0, True, -1))
    assert not understands(version_number("5.1.4"), InvokeBrokerToResetOffset("t", "g", 0, True, 0, 7))
