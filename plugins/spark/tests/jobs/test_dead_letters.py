"""Dead letters sent again."""

from collections import Counter

import pytest
from mqframe_admin.rules.dead_letters import ResendTo
from mqframe_spark.jobs.dead_letters import (
    Republish,
    Republished,
    marked,
    open_letters,
    republish_dead_letters,
)

from mqframe import Admin
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


def test_dead_letters_go_to_the_group_that_gave_them_up_once(spark, place) -> None:
    topic = place.topic()
    place.send(topic, range(6))
    group, other = "gives-up-alone", "gave-nothing-up-beside"
    place.give_up(group, topic)
    retry = f"%RETRY%{group}"
    before = place.numbers(retry)
    job = Republish(source=place.source, group=group, where="tags = 'tag1' or text = '0'")
    open_letters(job)
    dry = republish_dead_letters(spark, job, dry_run=True)
    assert (dry.dead_letters, dry.chosen, dry.sent_before, dict(dry.topics)) == (6, 3, 0, {retry: 3})
    assert place.numbers(retry) == before, "a dry run wrote"
    assert republish_dead_letters(spark, job) == dry
    assert place.numbers(retry) - before == Counter([0, 1, 4])
    assert place.numbers(topic) == Counter(range(6)), "other groups got them again"

    with Admin(nameserver=place.nameserver) as admin:
        letters = {each.message.body: each for each in admin.dead_letters.list(group)}
        copies = [each for each in place.all(retry) if "MQFRAME_DEAD_LETTER" in each.properties]
        assert {each.properties["MQFRAME_DEAD_LETTER"] for each in copies} == {
            letters[b"%d" % number].mark for number in (0, 1, 4)
        }
        for copy in copies:
            assert copy.properties["RETRY_TOPIC"] == topic
            assert copy.message_id == letters[copy.body].unique_key
            assert copy.reconsume_times == 0
        # What this job sent counts for `mqframe dlq resend`, and the other way round.
        assert [each.result for each in admin.dead_letters.resend([letters[b"0"]])] == [None]
        admin.dead_letters.resend([letters[b"2"]])
    rest = republish_dead_letters(spark, Republish(source=place.source, group=group))
    assert (rest.chosen, rest.sent_before, dict(rest.topics)) == (6, 4, {retry: 2})
    assert place.numbers(retry) - before == Counter(range(6))

    assert place.consume(group, topic, 6) == Counter(range(6)), "as messages of the original topic"
    assert place.consume(other, topic, 6) == Counter(range(6)), "once, from their topic"
    again = republish_dead_letters(
        spark, Republish(source=place.source, group=group, where="text = '3'", again=True)
    )
    assert dict(again.topics) == {retry: 1}
    assert (place.numbers(retry) - before)[3] == 2


def test_a_group_without_a_retry_topic_is_told_where_to_send_to(spark, place) -> None:
    topic, group = place.topic(), "gives-up-and-goes"
    place.send(topic, range(1))
    place.give_up(group, topic)
    job = Republish(source=place.source, group=group)
    open_letters(job)
    with Admin(nameserver=place.nameserver) as admin:
        admin.topics.delete(f"%RETRY%{group}")
    with pytest.raises(FixError, match=f"no broker has %RETRY%{group}, .* --to topic"):
        republish_dead_letters(spark, job)


def test_dead_letters_go_to_where_they_came_from_where_that_is_asked_for(spark, place, tmp_path) -> None:
    first, second = place.topic("-1"), place.topic("-2")
    place.send(first, range(6))
    place.send(second, range(6, 9))
    group = "gives-up-in-spark"
    place.give_up(group, first, second)
    job = Republish(
        source=place.source,
        group=group,
        where=f"original_topic = '{second}' or (tags = 'tag1' and cast(text as int) < 4)",
        to=ResendTo.TOPIC,
        commit_path=str(tmp_path / "commits"),
    )
    with Admin(nameserver=place.nameserver) as admin:
        admin.dead_letters.close(group)
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
        [letter] = [each for each in admin.dead_letters.list(group) if each.message.body == b"1"]
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
        [letter] = [each for each in admin.dead_letters.list(group) if each.message.body == b"5"]
        admin.dead_letters.resend([letter], to="topic")
    whole = Republish(source=place.source, group=group, to=ResendTo.TOPIC)
    everything = republish_dead_letters(spark, whole)
    assert (everything.chosen, everything.sent_before, dict(everything.topics)) == (9, 5, {first: 4})
    assert place.numbers(first) == Counter([*range(6)] * 2)


def test_dead_letters_may_all_go_elsewhere_and_again(spark, place, tmp_path) -> None:
    topic, into = place.topic(), place.topic("-into")
    place.send(topic, range(3))
    group = "gives-up-elsewhere"
    place.give_up(group, topic)
    job = Republish(source=place.source, group=group, into=into, again=True)
    open_letters(job)
    for copies in (1, 2):
        assert republish_dead_letters(spark, job).topics == {into: 3}
        assert place.numbers(into) == Counter([*range(3)] * copies)
    assert place.numbers(topic) == Counter(range(3))
    with pytest.raises(FixError, match=r"--where 'colour = 1': .*`colour` cannot be resolved"):
        republish_dead_letters(spark, Republish(source=place.source, group=group, where="colour = 1"))
    with Admin(nameserver=place.nameserver) as admin:
        admin.topics.delete(topic)
    with pytest.raises(FixError, match=f"dead letters of {group} came from topic {topic}: no broker has"):
        republish_dead_letters(
            spark, Republish(source=place.source, group=group, to=ResendTo.TOPIC, again=True)
        )
