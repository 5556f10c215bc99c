import pytest
from mqframe_spark.source.bounds import EARLIEST, LATEST, Bound, parse_bound, parse_time, resolve

from mqframe.core.errors import SettingError
from mqframe.core.messages.message import MessageQueue

A, B = MessageQueue("t", "a", 0), MessageQueue("t", "b", 1)
LOW, HIGH = {A: 2, B: 0}, {A: 10, B: 5}


def at(bound: Bound, default=LOW) -> dict[MessageQueue, int]:
    return resolve(
        bound, LOW, HIGH, default,
        at_time=lambda queue, ms: {A: 1, B: 99}[queue],
        of_group=lambda queue, group: {A: 7, B: None}[queue] if group == "g" else None,
    )  # fmt: skip


def test_words_times_groups_and_numbers_name_offsets() -> None:
    assert at(parse_bound(" Earliest ")) == LOW
    assert at(parse_bound("latest")) == HIGH
    assert at(parse_bound("group:g")) == {A: 7, B: 0}
    assert at(parse_bound("group:g"), HIGH) == {A: 7, B: 5}
    assert at(parse_bound('{"t": {"a/0": 4, "b/1": -1}}')) == {A: 4, B: 5}
    assert at(parse_bound('{"t": {"a/0": -2}}'), HIGH) == {A: 2, B: 5}
    # A time by queue; those that are left out are where they would be without it.
    assert at(parse_time('{"t": {"b/1": 1700000000000}}')) == {A: 2, B: 5}
    assert at(parse_time('{"t": {"a/0": "2023-11-14T22:13:20Z"}}'), HIGH) == {A: 2, B: 5}
    # A time before the oldest message is its place, one after the newest is the end.
    assert at(parse_time("1700000000000")) == {A: 2, B: 5}


def test_times_are_read_with_their_zone() -> None:
    assert parse_time("2023-11-14T22:13:20Z").timestamp_ms == 1_700_000_000_000
    assert parse_time("2023-11-14T23:13:20.5+01:00").timestamp_ms == 1_700_000_000_500
    assert (EARLIEST.kind, LATEST.kind) == ("earliest", "latest")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("soon", "must be earliest, latest, group:NAME or JSON"),
        ("group:a b", "group name 'a b'"),
        ("{", "is no JSON"),
        ("{}", "holds no offset"),
        ('{"t": {"a": 1}}', "t: 'a': 1 is not broker/queue: offset"),
        ('{"t": {"a/0": "1"}}', "'1' is not broker/queue: offset"),
        ('{"t": {"a/0": true}}', "True is not"),
        ('{"t": {"a/0": -3}}', "-3 is not"),
        ('{"t": 3}', "holds no offset"),
    ],
)
def test_bad_offsets_are_named(text, said) -> None:
    with pytest.raises(SettingError, match=said):
        parse_bound(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("yesterday", "milliseconds since 1970"),
        ('{"t": {"a/0": "yesterday"}}', "t: 'a/0': 'yesterday' is not broker/queue: time"),
        (
            '{"t": {"0": 1700000000000}}',
            'queues belong to brokers: write {"t": {"broker-a/0": 1700000000000}}',
        ),
        ("{}", "holds no time"),
        ("2023-11-14T22:13:20", "2023-11-14T22:13:20 names no zone; add one, .*or give the option timeZone"),
        ('{"t": {"a/0": "2023-11-14"}}', "t: 'a/0': 2023-11-14 names no zone"),
        ("1700000000", "1700000000 counts seconds; write milliseconds since 1970"),
        ('{"t": {"a/0": 1700000000}}', "t: 'a/0': 1700000000 counts seconds"),
    ],
)
def test_a_bad_time_is_refused(text, said) -> None:
    with pytest.raises(SettingError, match=said):
        parse_time(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"t": {"a/9": 1}}', "topic t has no queue a/9"),
        ('{"t": {"a/0": 11}}', "topic t, queue a/0: offset 11 lies behind its end, 10"),
    ],
)
def test_offsets_that_no_queue_has_are_refused(text, said) -> None:
    with pytest.raises(SettingError, match=said):
        at(parse_bound(text))


def test_times_of_no_queue_are_refused() -> None:
    with pytest.raises(SettingError, match="topic t has no queue a/9"):
        at(parse_time('{"t": {"a/9": 1700000000000}}'))
