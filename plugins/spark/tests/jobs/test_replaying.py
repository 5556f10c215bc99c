"""Between two moments."""

import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from mqframe_spark.jobs.replaying import Replay, check_replay, moment_ms, replay

from mqframe.core.errors import SettingError


def job(**change: str) -> Replay:
    given = {"topic": "t", "into": "u", "begin": "2026-01-01T00:00Z", "end": "2026-01-02T00:00Z", **change}
    return Replay(source={"nameserver": "127.0.0.1:1"}, checkpoint="/cp", **given)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"begin": "soon"}, "--from soon: must be milliseconds"),
        ({"end": "later"}, "--to later: must be milliseconds"),
        ({"end": "2026-01-01T00:00Z"}, "--from 2026-01-01T00:00Z does not come before --to 2026-01-01"),
        ({"into": "t"}, "--into t: is the topic that is to be replayed"),
        ({"rows_at_once": 0}, "--rows-at-once 0: must be 1 to 1000000"),
    ],
)
def test_what_cannot_be_done_is_told_before_anybody_is_asked(change, said) -> None:
    with pytest.raises(SettingError, match=said):
        check_replay(job(**change))


def test_moments_have_a_zone() -> None:
    assert moment_ms("--from", "2026-01-01T00:00Z") == moment_ms("--from", "2026-01-01T01:00+01:00")
    assert moment_ms("--from", "1767225600000") == 1767225600000
    with pytest.raises(SettingError, match=r"--from 2026-01-01T00:00: .*names no zone"):
        moment_ms("--from", "2026-01-01T00:00")
    with pytest.raises(SettingError, match=r"--from 1767225600: .*counts seconds"):
        moment_ms("--from", "1767225600")


def test_moments_of_a_replay_are_of_the_session_s_zone(spark, place, tmp_path) -> None:
    topic, into = place.topic(), place.topic("-into", 3)
    place.send(topic, range(4))
    now = datetime.now(ZoneInfo("Asia/Kolkata")).replace(tzinfo=None)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    try:
        job = Replay(
            source=place.source, topic=topic, into=into, begin=(now - timedelta(minutes=5)).isoformat(),
            end=(now + timedelta(minutes=5)).isoformat(), checkpoint=str(tmp_path / "cp"), exactly_once=False,
        )  # fmt: skip
        assert replay(spark, job).rows == 4
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    assert place.numbers(into) == Counter(range(4))


def test_a_replay_copies_what_was_stored_in_between_once(spark, place, tmp_path) -> None:
    topic, into = place.topic(), place.topic("-into", 3)
    place.send(topic, range(4))
    time.sleep(0.01)
    begin = datetime.now(UTC).isoformat()
    place.send(topic, range(4, 12))
    end = round(time.time() * 1000) + 1
    time.sleep(0.01)
    place.send(topic, range(12, 30))
    job = Replay(
        source=place.source, topic=topic, into=into, begin=begin, end=str(end),
        checkpoint=str(tmp_path / "cp"), exactly_once=False, rows_at_once=5,
    )  # fmt: skip
    totals = replay(spark, job)
    assert place.numbers(into) == Counter(range(4, 12))
    # The queues are read to where the time ends, and not to the ends of the queues.
    assert (totals.rows, totals.backlog) == (8, 0)
    assert replay(spark, job).rows == 0
    assert place.numbers(into) == Counter(range(4, 12))
    [message] = [each for each in place.all(into) if each.body == b"7"]
    assert (message.tag, message.keys, message.flag) == ("tag1", ["all", "k7"], 7)
