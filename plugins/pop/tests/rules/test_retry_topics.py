"""Topics in which popped messages come again."""

from __future__ import annotations

from mqframe_pop.rules.retry_topics import pop_retry_topic

from mqframe.core.messages.names import normal_topic


def test_they_name_group_and_topic() -> None:
    first, second = pop_retry_topic("t", "g"), pop_retry_topic("t", "g", v2=True)
    assert (first, second) == ("%RETRY%g_t", "%RETRY%g+t")
    assert [normal_topic(topic, "g") for topic in (first, second)] == ["t", "t"]
