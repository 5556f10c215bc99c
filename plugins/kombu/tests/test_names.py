from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mqframe_kombu.names import LENGTH_MAX, QueueName, queue_of, topic_of

from mqframe.core.errors import FixError
from mqframe.core.messages.names import check_group, check_topic, is_system_topic

queues = st.text(min_size=1, max_size=200)
hosts = st.text(max_size=30).map(lambda text: text.strip("/"))
steps = st.integers(0, 9)


@pytest.mark.parametrize(
    ("queue", "host", "step", "topic"),
    [
        ("celery", "/", 0, "celery"),
        ("celery", "", 6, "celery%-6"),
        ("celery", "shop", 3, "shop%_celery%-3"),
        ("celery@host.celery.pidbox", "", 0, "celery%40host%2Ecelery%2Epidbox"),
        ("~ü/ ", "", 0, "%7E%C3%BC%2F%20"),
        ("TBW102", "", 0, "%54BW102"),
        ("rmq_sys_x", "", 0, "%72mq_sys_x"),
        ("RMQ_SYS_TRACE_TOPIC", "", 0, "%52MQ_SYS_TRACE_TOPIC"),
    ],
)
def test_what_topics_are_called(queue: str, host: str, step: int, topic: str) -> None:
    assert topic_of(queue, virtual_host=host, step=step) == topic
    assert queue_of(topic) == QueueName(queue, host.strip("/"), step)


@given(queues, hosts, steps)
@example("%-6", "", 0)
@example("%--0", "", 0)
@example("a%_b", "", 0)
@example("a" * LENGTH_MAX, "", 0)
@example("." * LENGTH_MAX, "", 9)
@example("%RETRY%x", "", 0)
@example("%DLQ%x", "", 0)
@example("\ud800", "", 0)
def test_topics_are_legal_and_lead_back(queue: str, host: str, step: int) -> None:
    topic = topic_of(queue, virtual_host=host, step=step)
    check_topic(topic)
    check_group(topic)
    check_topic(f"%RETRY%{topic}_{topic}")
    assert len(topic) <= LENGTH_MAX
    assert not is_system_topic(topic)
    assert not topic.startswith(("%RETRY%", "%DLQ%"))
    back = queue_of(topic)
    assert back == QueueName(queue, host, step) or (back is None and "%--" in topic)


@given(st.lists(st.tuples(queues, hosts, steps), min_size=2, max_size=20, unique=True))
def test_no_two_queues_share_a_topic(names: list[tuple[str, str, int]]) -> None:
    topics = {topic_of(queue, virtual_host=host, step=step) for queue, host, step in names}
    assert len(topics) == len(names)


def test_long_names_that_differ_at_their_ends_differ() -> None:
    one, two = topic_of("x" * 500 + "1"), topic_of("x" * 500 + "2")
    assert one != two
    assert one.startswith("x" * 50)
    assert len(one) == LENGTH_MAX
    assert topic_of("x" * 500 + "1", step=3).endswith("%-3")


@given(st.text("%-_azAZ09|", max_size=40))
def test_what_is_no_name_of_ours_is_none(topic: str) -> None:
    back = queue_of(topic)
    assert back is None or topic_of(back.queue, virtual_host=back.virtual_host, step=back.step) == topic


def test_a_queue_without_name_is_refused() -> None:
    with pytest.raises(FixError, match="is empty"):
        topic_of("")
