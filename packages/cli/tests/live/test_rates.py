"""What changed between two looks."""

from __future__ import annotations

from mqframe_cli.live.rates import GroupProgress, Look, group_rates, topic_rates

BEFORE = Look(10.0, {"a": 100, "b": 5}, {"a": 100, "b": 5}, {("g", "a"): GroupProgress(40, 100, 60)})
NOW = Look(
    12.0,
    {"a": 150, "b": 5, "new": 7},
    {"a": 120, "b": 5, "new": 7},
    {("g", "a"): GroupProgress(60, 150, 90), ("h", "a"): GroupProgress(150, 150, 0)},
)


def test_topics_have_what_came_in_and_what_groups_consumed() -> None:
    assert topic_rates(BEFORE, NOW) == [
        {"topic": "a", "in_per_s": 25.0, "out_per_s": 10.0, "messages": 120},
        {"topic": "b", "in_per_s": 0.0, "out_per_s": 0.0, "messages": 5},
        {"topic": "new", "in_per_s": 0.0, "out_per_s": 0.0, "messages": 7},
    ]


def test_groups_have_rates_and_lag() -> None:
    assert group_rates(BEFORE, NOW) == [
        {"group": "g", "topic": "a", "in_per_s": 25.0, "out_per_s": 10.0, "lag": 90},
        {"group": "h", "topic": "a", "in_per_s": 0.0, "out_per_s": 0.0, "lag": 0},
    ]


def test_what_was_set_back_or_made_anew_has_no_rate() -> None:
    back = Look(14.0, {"a": 3}, {"a": 3}, {("g", "a"): GroupProgress(0, 3, 3)})
    (topic,), (group,) = topic_rates(NOW, back), group_rates(NOW, back)
    assert (topic["in_per_s"], topic["out_per_s"]) == (0.0, 0.0)
    assert (group["in_per_s"], group["out_per_s"], group["lag"]) == (0.0, 0.0, 3)


def test_topics_for_retries_come_behind_those_that_are_as_busy() -> None:
    names = ["%RETRY%g", "a", "z"]
    look = Look(10.0, dict.fromkeys(names, 1), dict.fromkeys(names, 1), {})
    assert [row["topic"] for row in topic_rates(look, look)] == ["a", "z", "%RETRY%g"]
    still = Look(10.0, {}, {}, {("g", name): GroupProgress(1, 1, 0) for name in names})
    assert [row["topic"] for row in group_rates(still, still)] == ["a", "z", "%RETRY%g"]
