"""Dead letters sent again."""

import threading
import time
from collections import Counter
from typing import Any

import pytest
from mqframe_spark.jobs import Republish, open_letters, republish_dead_letters
from mqframe_spark.jobs.dead_letters import Republished, marked

from mqframe import Admin, ConsumeResult, DeadLetter, PushConsumer
from mqframe.core.errors import FixError
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.ids import offset_id

ACCESS = {"nameserver": "127.0.0.1:1", "accessKey": "a", "secretKey": "s"}


def test_copies_go_to_the_cluster_of_the_letters_and_once_where_there_is_a_record() -> None:
    job = Republish(source={**ACCESS, "tags": "x", "minPartitions": "9"}, group="g")
    assert job.topic == "%DLQ%g"
    assert job.writing() == ACCESS
    once = Republish(source=ACCESS, group="g", commit_path="/c")
    assert once.writing() == {**ACCESS, "exactlyOnce": "true", "commitPath": "/c"}


def test_a_row_sums_up_what_was_sent() -> None:
    assert Republished(9, 4, 1, {"t": 2, "u": 1}).row() == {
        "dead_letters": 9, "chosen": 4, "sent_before": 1, "sent": 3, "topics": {"t": 2, "u": 1},
    }  # fmt: skip


def test_groups_without_dead_letters_are_told_before_spark_reads_anything(mqframe_shared_cluster) -> None:
    source = {"nameserver": mqframe_shared_cluster.nameserver}
    with pytest.raises(
        FixError, match="group gave-nothing-up has no dead letters: there is no topic %DLQ%gave"
    ):
        open_letters(Republish(source=source, group="gave-nothing-up"))
    with pytest.raises(FixError, match="a b"):
        open_letters(Republish(source=ACCESS, group="a b"))


def test_a_mark_is_the_group_and_the_id_that_the_letter_has_on_its_broker(spark) -> None:
    places = [("127.0.0.1:10911", 0), ("10.0.0.1:10911", 1 << 40), ("127.0.0.1:10911", 77)]
    values = ", ".join(f"('{host}', {offset}L)" for host, offset in places)
    rows = spark.sql(f"select * from values {values} as letters (store_host, commitlog_offset)")
    made = marked(rows, "g", {host for host, _ in places}).collect()
    assert {(row.store_host, row.commitlog_offset): row.mark for row in made} == {
        (host, offset): f"g@{offset_id(encode_host(host), offset)}" for host, offset in places
    }


def letters(admin: Admin, group: str) -> list[DeadLetter]:
    admin.open_dead_letters(group)
    try:
        return admin.dead_letters(group)
    except FixError:  # the first of them came, and their topic with it, since there was none to open
        return []


def given_up(place: Any, group: str, *topics: str) -> None:
    """The group gives up all that is in `topics`."""
    expected = {
        message.message_id for topic in topics for all_of in place.read(topic).values() for message in all_of
    }
    done = threading.Semaphore(0)

    def give_up(messages: Any, context: Any) -> ConsumeResult:
        context.delay_level_when_next_consume = -1
        done.release()
        return ConsumeResult.RECONSUME_LATER

    consumer = PushConsumer(group, nameserver=place.nameserver, consume_from="first")
    for topic in topics:
        consumer.subscribe(topic, "*", give_up, batch_max=1)
    with consumer, Admin(nameserver=place.nameserver) as admin:
        for _ in expected:
            assert done.acquire(timeout=120)
        deadline = time.monotonic() + 120
        while {each.unique_key for each in letters(admin, group)} != expected:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        admin.close_dead_letters(group)


def test_dead_letters_go_to_where_they_came_from_once(spark, place, tmp_path) -> None:
    first, second = place.topic("-1"), place.topic("-2")
    place.send(first, range(6))
    place.send(second, range(6, 9))
    group = "gives-up-in-spark"
    given_up(place, group, first, second)
    job = Republish(
        source=place.source,
        group=group,
        where=f"original_topic = '{second}' or (tags = 'tag1' and cast(text as int) < 4)",
        commit_path=str(tmp_path / "commits"),
    )
    with Admin(nameserver=place.nameserver) as admin:
        admin.close_dead_letters(group)
    assert open_letters(job) == ["broker-a"]
    assert open_letters(job) == []
    wanted = {first: 1, second: 3}
    dry = republish_dead_letters(spark, job, dry_run=True)
    assert (dry.dead_letters, dry.chosen, dry.sent_before, dict(dry.topics)) == (9, 4, 0, wanted)
    assert sum(place.numbers(first).values()) == 6, "a dry run wrote"
    done = republish_dead_letters(spark, job)
    assert done == dry
    assert place.numbers(first) == Counter([*range(6), 1])
    assert place.numbers(second) == Counter([*range(6, 9)] * 2)

    marked = [each for each in place.all(first) if "MQFRAME_DEAD_LETTER" in each.properties]
    assert [(m.body, m.tag, m.keys, m.flag) for m in marked] == [(b"1", "tag1", ["all", "k1"], 1)]
    with Admin(nameserver=place.nameserver) as admin:
        [letter] = [each for each in admin.dead_letters(group) if each.message.body == b"1"]
    properties = marked[0].properties
    assert properties["MQFRAME_DEAD_LETTER"] == letter.mark
    assert properties["IDEMPOTENCE_KEY"] == letter.unique_key
    assert properties["customer"] == "c11"
    gone = {
        "RETRY_TOPIC",
        "RECONSUME_TIME",
        "MAX_RECONSUME_TIMES",
        "ORIGIN_MESSAGE_ID",
        "DELAY",
        "REAL_TOPIC",
    }
    assert not gone & set(properties)
    assert marked[0].reconsume_times == 0

    again = republish_dead_letters(spark, job)
    assert (again.chosen, again.sent_before, dict(again.topics)) == (4, 4, {})
    # What `mqframe dlq resend` sent counts as well.
    with Admin(nameserver=place.nameserver) as admin:
        [letter] = [each for each in admin.dead_letters(group) if each.message.body == b"5"]
        admin.resend_dead_letters([letter], to="topic")
    everything = republish_dead_letters(spark, Republish(source=place.source, group=group))
    assert (everything.chosen, everything.sent_before, dict(everything.topics)) == (9, 5, {first: 4})
    assert place.numbers(first) == Counter([*range(6)] * 2)


def test_dead_letters_may_all_go_elsewhere_and_again(spark, place, tmp_path) -> None:
    topic, into = place.topic(), place.topic("-into")
    place.send(topic, range(3))
    group = "gives-up-elsewhere"
    given_up(place, group, topic)
    job = Republish(source=place.source, group=group, into=into, again=True)
    open_letters(job)
    for copies in (1, 2):
        assert republish_dead_letters(spark, job).topics == {into: 3}
        assert place.numbers(into) == Counter([*range(3)] * copies)
    assert place.numbers(topic) == Counter(range(3))
    with pytest.raises(FixError, match=r"--where 'colour = 1': .*`colour` cannot be resolved"):
        republish_dead_letters(spark, Republish(source=place.source, group=group, where="colour = 1"))
    with Admin(nameserver=place.nameserver) as admin:
        admin.delete_topic(topic)
    with pytest.raises(FixError, match=f"dead letters of {group} came from topic {topic}: no broker has"):
        republish_dead_letters(spark, Republish(source=place.source, group=group))
