"""Which entry decides."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_acl.networks import caller_address
from mqframe_acl.policies import ENTRIES_MAX, Policies, pattern_of, policies_of, type_of
from mqframe_admin.access.bodies import AclInfo, PolicyEntryInfo, PolicyInfo

from mqframe.core.requests.needs import Action, Need, Resource

HERE = caller_address("192.168.0.1:1")


def entry(resource: str, decision: str = "Allow", actions: str = "Pub", *sources: str) -> PolicyEntryInfo:
    return PolicyEntryInfo(resource, actions.split(","), decision, list(sources) or None)


def policies(*entries: PolicyEntryInfo, kind: str | None = None, old: Policies | None = None) -> Policies:
    return policies_of(AclInfo([PolicyInfo(list(entries), kind)]), old or Policies())


def topic(name: str, *actions: Action) -> Need:
    return Need(Resource.TOPIC, name, actions or (Action.PUB,))


MIXED = [
    entry("*", "Allow"),
    entry("Topic:*", "Deny"),
    entry("Topic:test*", "Allow"),
    entry("Topic:test_*", "Deny"),
    entry("Topic:test_001", "Allow"),
]


@pytest.mark.parametrize("order", list(itertools.permutations(range(len(MIXED)))))
def test_the_most_particular_entry_decides_in_whatever_order_they_stand(order: tuple[int, ...]) -> None:
    found = policies(*(MIXED[at] for at in order))
    decided = {name: found.allow(topic(name), HERE) for name in ("test_001", "test_002", "test1", "orders")}
    assert decided == {"test_001": True, "test_002": False, "test1": True, "orders": False}
    assert found.allow(Need(Resource.GROUP, "g", (Action.PUB,)), HERE)


def test_nothing_is_allowed_by_default() -> None:
    assert not Policies().allow(topic("orders"), HERE)
    found = policies(entry("Topic:orders"))
    assert found.allow(topic("orders"), None)
    for need in (topic("orders2"), topic("order"), topic(""), topic("orders", Action.SUB)):
        assert not found.allow(need, HERE)
    assert not found.allow(Need(Resource.GROUP, "orders", (Action.PUB,)), HERE)


def test_one_of_the_actions_is_enough() -> None:
    found = policies(entry("Topic:orders", "Allow", "Sub,Get"))
    assert found.allow(topic("orders", Action.PUB, Action.GET), HERE)
    assert policies(entry("Topic:orders", "Allow", "All")).allow(topic("orders", Action.DELETE), HERE)


def test_all_resources_of_a_kind_are_granted_by_their_pattern_alone() -> None:
    every = Need(Resource.TOPIC, "", (Action.LIST,))
    assert policies(entry("Topic:*", "Allow", "List")).allow(every, HERE)
    assert policies(entry("*", "Allow", "List")).allow(every, HERE)
    assert not policies(entry("Topic:a*", "Allow", "List")).allow(every, HERE)


def test_entries_for_other_places_say_nothing() -> None:
    found = policies(entry("Topic:orders", "Allow", "Pub", "10.0.0.0/8", "192.168.0.1"))
    assert found.by_place
    assert found.allow(topic("orders"), HERE)
    assert found.allow(topic("orders"), caller_address("10.7.7.7:1"))
    assert not found.allow(topic("orders"), caller_address("192.168.0.2:1"))
    assert not found.allow(topic("orders"), None)


def test_default_entries_count_where_no_custom_one_fits() -> None:
    found = policies(entry("Topic:*", "Allow"), kind="Default")
    assert found.allow(topic("orders"), HERE)
    found = policies(entry("Topic:orders", "Deny"), old=found)
    assert not found.allow(topic("orders"), HERE)
    assert found.allow(topic("others"), HERE)


def test_an_entry_takes_the_place_of_the_one_for_the_same_resource() -> None:
    found = policies(entry("Topic:orders", "Deny"), old=policies(entry("Topic:orders"), entry("Group:g")))
    assert not found.allow(topic("orders"), HERE)
    (shown,) = found.shown()
    assert [each.resource for each in shown.entries or ()] == ["Topic:orders", "Group:g"]
    assert found.without(type_of(None), pattern_of("Topic:orders")).shown("Topic") == []
    left = found.without(type_of("custom"), pattern_of("Topic:orders"))
    left = left.without(type_of(""), pattern_of("Group:g"))
    assert left == Policies()


def test_what_is_shown_can_be_read_again() -> None:
    found = policies(
        *MIXED, entry("Group:g*", "Deny", "All", "10.0.0.0/8"), entry("Cluster:C", "Allow", "Get,List")
    )
    assert policies_of(AclInfo(found.shown()), Policies()) == found


@pytest.mark.parametrize("text", ["", "Topic", "Topic:", "topics:a", ":a", "Any:x", "orders", "**"])
def test_what_is_no_resource(text: str) -> None:
    with pytest.raises(ValueError, match="resource"):
        pattern_of(text)


@pytest.mark.parametrize(
    "info",
    [
        AclInfo(),
        AclInfo([]),
        AclInfo([PolicyInfo()]),
        AclInfo([PolicyInfo([entry("Topic:a")], "Odd")]),
        AclInfo([PolicyInfo([entry("Topic:a", "Perhaps")])]),
        AclInfo([PolicyInfo([PolicyEntryInfo("Topic:a", ["Pub"], None)])]),
        AclInfo([PolicyInfo([PolicyEntryInfo("Topic:a", [], "Allow")])]),
        AclInfo([PolicyInfo([entry("Topic:a", "Allow", "Any")])]),
        AclInfo([PolicyInfo([entry("Topic:a", "Allow", "Pub", "10.0.0.0/77")])]),
        AclInfo([PolicyInfo([entry(f"Topic:{n}") for n in range(ENTRIES_MAX + 1)])]),
    ],
)
def test_what_is_wrong_is_refused_whole(info: AclInfo) -> None:
    with pytest.raises(ValueError, match=r"empty|neither|none of|appear|more than"):
        policies_of(info, Policies())


NAMES = ("test_001", "test_2", "x")


@given(st.lists(st.sampled_from(MIXED), unique_by=id, max_size=5), st.sampled_from(NAMES))
def test_an_order_never_matters(entries: list[PolicyEntryInfo], name: str) -> None:
    if entries:
        there, back = policies(*entries), policies(*reversed(entries))
        assert there.allow(topic(name), HERE) == back.allow(topic(name), HERE)
