"""Counts and means by tag."""

from __future__ import annotations

from collections import defaultdict

from mqframe_cli.quickstart.summary import add, differences, missing

from mqframe.hooks.interfaces import TagSummary as Group


def test_counts_sums_and_means() -> None:
    groups: defaultdict[str, Group] = defaultdict(Group)
    for tag, value in (("a", 1.0), ("a", None), ("b", 4.0), ("a", 2.0), ("c", None)):
        add(groups, tag, value)
    assert groups == {
        "a": Group(3, 2, 3.0),
        "b": Group(1, 1, 4.0),
        "c": Group(1, 0, 0.0),
    }
    assert [group.mean for group in groups.values()] == [1.5, 4.0, None]


def test_sums_may_differ_in_their_last_digits() -> None:
    assert differences({"a": Group(3, 3, 0.1 + 0.2 + 0.3)}, {"a": Group(3, 3, 0.3 + 0.2 + 0.1)}) == []


def test_every_difference_is_told() -> None:
    expected = {
        "a": Group(2, 1, 5.0),
        "b": Group(1, 1, 1.0),
        "c": Group(1, 0, 0.0),
        "d": Group(1, 1, 1.0),
    }
    found = {
        "a": Group(2, 1, 5.1),
        "b": Group(2, 1, 1.0),
        "d": Group(1, 1, 1.0),
        "e": Group(1, 0, 0.0),
    }
    lines = differences(expected, found)
    assert [line.split(":")[0] for line in lines] == ["a", "b", "c", "e"]
    assert lines[0] == "a: expected 2 rows, sum 5 of 1, got 2 rows, sum 5.1 of 1"


def test_ids_that_nobody_saw() -> None:
    assert missing(["1", "2", "3"], {"2"}) == ["1", "3"]
