"""Retry topics of pops name group and topic, so that either is found again."""

from __future__ import annotations

from mqframe_pop.rules.retry_topics import pop_retry_topic

from mqframe.core.messages.names import normal_topic


def test_retry_topics_of_pops_name_group_and_topic() -> None:
    first, second = pop_retry_topic("t", "g"), pop_retry_topic("t", "g", v2=True)
    assert (first, second) == ("%RETRY%g_t", "%RETRY%g+t")
    assert [normal_topic(topic, "g") for topic in ("t", first, second)] == ["t"] * 3
