"""Options of the sink."""

import pytest
from mqframe_spark.sink.options import SinkOptions, parse_sink_options

from mqframe.core.errors import SettingError

NS = {"nameserver": "127.0.0.1:9876"}


def test_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_sink_options({**NS, "topic": "t"}) == SinkOptions("127.0.0.1:9876", "t")
    monkeypatch.setenv("NAMESRV_ADDR", "10.0.0.1:1")
    assert parse_sink_options({}).nameserver == "10.0.0.1:1"


def test_all_that_there_are() -> None:
    given = {
        "NAMESERVER": "a:1;b:2", "topic": "t", "group": "g", "batchBytes": "65536",
        "compressoverbytes": "100000", "inFlightRequests": "8",
        "idempotenceKeys": "TRUE", "ignoreColumns": "true", "exactlyOnce": "true",
        "commitPath": "/c", "checkpointLocation": "/p", "queryName": "q", "accessKey": "k", "secretKey": "s",
    }  # fmt: skip
    found = parse_sink_options(given)
    assert found.access.access_key == "k"
    assert found == SinkOptions(
        nameserver="a:1;b:2",
        topic="t",
        group="g",
        batch_bytes=65536,
        compress_over_bytes=100_000,
        in_flight_requests=8,
        idempotence_keys=True,
        ignore_columns=True,
        exactly_once=True,
        commit_path="/c",
        checkpoint_location="/p",
        query_name="q",
        access=found.access,
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("batchSize", "1", "unknown option batchSize = '1'; did you mean batchBytes?"),
        ("startingOffsets", "earliest", "unknown option startingOffsets = 'earliest'"),
        ("path", "/x", "unknown option path = '/x'"),
        ("nameserver", "nowhere", "option nameserver = 'nowhere'"),
        ("topic", "a b", "option topic = 'a b'"),
        ("topic", "SCHEDULE_TOPIC_XXXX", "option topic = 'SCHEDULE_TOPIC_XXXX'"),
        ("topic", "%RETRY%g", "option topic = '%RETRY%g'"),
        ("group", "a b", "option group = 'a b'"),
        ("batchBytes", "100", "option batchBytes = '100': must be within 1024 and 1048576"),
        ("batchBytes", "1048577", "option batchBytes = '1048577'"),
        ("batchBytes", "64k", "option batchBytes = '64k'"),
        ("compressOverBytes", "0", "option compressOverBytes = '0'"),
        ("inFlightRequests", "-1", "option inFlightRequests = '-1'"),
        ("inFlightRequests", "65", "option inFlightRequests = '65': must be within 1 and 64"),
        ("idempotenceKeys", "maybe", "option idempotenceKeys = 'maybe'"),
        ("ignoreColumns", "2", "option ignoreColumns = '2'"),
        ("exactlyOnce", "maybe", "option exactlyOnce = 'maybe'"),
        ("commitPath", "/c", "option commitPath = '/c': only exactlyOnce"),
    ],
)
def test_bad_options_are_named(name: str, value: str, message: str) -> None:
    with pytest.raises(SettingError) as raised:
        parse_sink_options({**NS, name: value})
    assert message in str(raised.value)


def test_options_of_an_object_store_are_for_a_record() -> None:
    given = {**NS, "fs.s3a.endpoint": "h", "FS.S3A.SECRET.KEY": "hush"}
    found = parse_sink_options({**given, "exactlyOnce": "true"})
    assert found.store.raw() == {"fs.s3a.endpoint": "h", "fs.s3a.secret.key": "hush"}
    assert "hush" not in repr(found)
    with pytest.raises(
        SettingError, match=r"options fs.s3a.endpoint, fs.s3a.secret.key: only exactlyOnce = 'true'"
    ) as told:
        parse_sink_options(given)
    assert "hush" not in str(told.value)
