"""Marks survive their text, paths stop what has been there, and copies keep what senders said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_mirror.rules.marks import (
    KEY,
    LEFT_OUT,
    PATH,
    SOURCE,
    Mark,
    alone,
    copied_properties,
    is_cluster_name,
    key_of,
    mark_of,
    may_pass,
    mirror_group,
    passed,
)

from mqframe.core.messages import properties as p
from mqframe.core.messages.checks import check_property
from mqframe.core.messages.names import check_group

CLUSTERS = st.from_regex(r"[a-z0-9_-]{1,10}", fullmatch=True).filter(is_cluster_name)
NUMBERS = st.integers(0, 2**62)
MARKS = st.builds(Mark, CLUSTERS, st.from_regex(r"[a-z/.-]{1,12}", fullmatch=True), NUMBERS, NUMBERS, NUMBERS)
OWN = st.dictionaries(
    st.from_regex(r"[a-zA-Z]{1,8}", fullmatch=True).filter(lambda name: name not in p.RESERVED),
    st.text("abcäß漢 ,/=", min_size=1),
    max_size=4,
)


@given(MARKS)
def test_a_mark_is_read_from_what_it_was_written_as(mark: Mark) -> None:
    assert mark_of({SOURCE: str(mark)}) == mark


@pytest.mark.parametrize("text", ["", "tokyo", "tokyo/broker-a/0/1", "tokyo/broker-a/x/1/2", "a/b/0/1/"])
def test_what_no_mirror_says_is_no_mark(text: str) -> None:
    assert mark_of({SOURCE: text} if text else {}) is None


@given(OWN, st.lists(CLUSTERS, unique=True, min_size=2, max_size=5), NUMBERS)
def test_a_message_never_comes_to_a_cluster_that_it_has_been_at(
    own: dict[str, str], clusters: list[str], offset: int
) -> None:
    properties = own
    for at, cluster in enumerate(clusters):
        assert passed(properties) == tuple(clusters[:at])
        assert not any(may_pass(properties, each) for each in clusters[:at])
        assert may_pass(properties, cluster)
        properties = copied_properties(properties, "key", Mark(cluster, "broker-a", 0, offset, 0))
    assert mark_of(properties) == Mark(clusters[-1], "broker-a", 0, offset, 0)


@given(OWN, st.sets(st.sampled_from(sorted(LEFT_OUT))))
def test_copies_keep_all_but_what_brokers_noted(own: dict[str, str], noted: set[str]) -> None:
    kept = {**own, p.TAGS: "paid", p.KEYS: "o-1 o-2", p.SHARDING_KEY: "anna", p.BUYER_ID: "7"}
    mark = Mark("tokyo", "broker-a", 3, 17, 5)
    copied = copied_properties({**kept, **dict.fromkeys(noted, "1")}, "id", mark)
    assert copied == {**kept, p.UNIQUE_KEY: "id", SOURCE: "tokyo/broker-a/3/17/5", PATH: "tokyo"}
    assert key_of(copied) == "id"


@given(OWN)
def test_what_travels_alone_says_its_key_and_nothing_that_senders_may_not(own: dict[str, str]) -> None:
    properties = copied_properties({**own, p.TAGS: "paid"}, "id", Mark("tokyo", "b", 0, 1, 2))
    found = alone(properties)
    for name, value in found.items():
        check_property(name, value)
    assert found == {**own, SOURCE: "tokyo/b/0/1/2", PATH: "tokyo", KEY: "id"}
    assert key_of({**found, p.UNIQUE_KEY: "another"}) == "id"


@pytest.mark.parametrize(
    ("name", "can"),
    [("tokyo-1_b", True), ("", False), ("a,b", False), ("a/b", False), ("ä", False), ("a" * 41, False)],
)
def test_names_of_clusters_stand_in_groups_and_paths(name: str, can: bool) -> None:
    assert is_cluster_name(name) is can


@given(CLUSTERS, CLUSTERS)
def test_the_group_of_a_mirror_is_one(source: str, target: str) -> None:
    check_group(mirror_group(source, target))
