import pytest
from mqframe_spark.records.schema import ARROW_SCHEMA
from mqframe_spark.retrying import PAUSES_SECONDS
from mqframe_spark.source.bounds import EARLIEST, LATEST, Bound
from mqframe_spark.source.options import STREAM_ONLY, Store, parse_options

from mqframe.core.errors import SettingError
from mqframe.core.messages.message import MessageQueue

GOOD = {"nameserver": "127.0.0.1:9876", "topic": "orders"}


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / "store"
    (folder / "commitlog").mkdir(parents=True)
    return folder


def test_names_count_without_regard_to_case() -> None:
    given = {
        "NameServer": "h:1, i:2",
        "TOPICS": "orders, audit,orders",
        "tags": "paid || refunded",
        "startingoffsets": "Latest",
        "MAXOFFSETSPERTRIGGER": "10",
        "maxBytesPerTrigger": "20",
        "minpartitions": "3",
        "columns": "body, queue_offset",
        "failondataloss": "False",
        "commitToGroup": "lag",
        "group": "g",
    }
    options = parse_options(given)
    assert (options.nameserver, options.topics, options.tags) == (
        "h:1;i:2", ("audit", "orders"), "paid || refunded",
    )  # fmt: skip
    assert (options.starting, options.ending) == (LATEST, LATEST)
    assert (options.max_offsets_per_trigger, options.max_bytes_per_trigger) == (10, 20)
    assert (options.min_partitions, options.columns) == (3, ("body", "queue_offset"))
    assert (options.fail_on_data_loss, options.commit_to_group, options.group) == (False, "lag", "g")


def test_defaults(monkeypatch) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", "n:9876")
    options = parse_options({"topic": "orders"})
    assert (options.nameserver, options.path, options.topics) == ("n:9876", (), ("orders",))
    assert (options.starting, options.ending, options.columns) == (
        EARLIEST, LATEST, tuple(ARROW_SCHEMA.names),
    )  # fmt: skip
    assert options.fail_on_data_loss


def test_a_pattern_names_topics_as_a_whole() -> None:
    options = parse_options({"nameserver": "h:1", "topicPattern": "or.*s"})
    assert [name for name in ("orders", "orders2", "xorders") if options.wants(name)] == ["orders"]


def test_times_stand_for_offsets() -> None:
    times = {"startingTimestamp": "1700000000005", "endingTimestamp": "2023-11-14T22:13:29Z"}
    options = parse_options({**GOOD, **times})
    assert (options.starting, options.ending) == (
        Bound("time", timestamp_ms=1_700_000_000_005),
        Bound("time", timestamp_ms=1_700_000_009_000),
    )


def test_times_without_a_zone_are_of_the_one_that_an_option_names() -> None:
    times = {"startingTimestamp": "2023-11-14T23:13:20", "TIMEZONE": "Europe/Berlin"}
    assert parse_options({**GOOD, **times}).starting == Bound("time", timestamp_ms=1_700_000_000_000)
    by_queue = {
        "startingTimestamp": '{"orders": {"broker-a/1": "2023-11-14T23:13:20"}}',
        "timeZone": "+01:00",
    }
    found = parse_options({**GOOD, **by_queue}).starting
    assert found == Bound("time", times={MessageQueue("orders", "broker-a", 1): 1_700_000_000_000})


def test_times_may_be_given_by_queue() -> None:
    options = parse_options({**GOOD, "startingTimestamp": '{"orders": {"broker-a/1": 1700000000000}}'})
    times = {MessageQueue("orders", "broker-a", 1): 1_700_000_000_000}
    assert options.starting == Bound("time", times=times)


@pytest.mark.parametrize(("text", "seconds"), [("500ms", 0.5), ("30 s", 30), ("15m", 900), ("2H", 7200)])
def test_micro_batches_wait_as_long_as_is_said(text, seconds) -> None:
    options = parse_options({**GOOD, "minOffsetsPerTrigger": "9", "maxTriggerDelay": text})
    assert (options.min_offsets_per_trigger, options.max_trigger_delay) == (9, seconds)


def test_retries_are_options() -> None:
    assert parse_options(GOOD).pauses == PAUSES_SECONDS
    assert parse_options({**GOOD, "retries": "2", "retryIntervalMs": "100"}).pauses == (0.1, 0.4)
    assert parse_options({**GOOD, "retries": "0"}).pauses == ()


def test_folders_are_named_or_name_themselves(store, monkeypatch) -> None:
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    given = {"mode": "files", "topic": "t"}
    assert parse_options({**given, "path": str(store)}).path == (Store("store", store),)
    other = f"{store}, b = {store}"
    assert parse_options({**given, "path": other}).path == (Store("store", store), Store("b", store))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"topik": "x"}, r"unknown option topik = 'x'; did you mean topic or topics\?"),
        ({"topic": None}, "option topic is missing"),
        ({"topics": "b"}, "options topic and topics contradict each other"),
        ({"topic": "a b"}, "option topic = 'a b'"),
        ({"topic": None, "topics": "a,,b"}, "option topics = 'a,,b'"),
        ({"topic": None, "topicPattern": "("}, r"option topicPattern = '\('"),
        ({"tags": "||"}, r"option tags = '\|\|'"),
        ({"nameserver": "nowhere"}, "option nameserver = 'nowhere'.*not host:port"),
        ({"nameserver": None}, "option nameserver = ''.*NAMESRV_ADDR"),
        ({"mode": "fast"}, "option mode = 'fast': must be one of broker, files"),
        ({"path": "/x"}, "option path = '/x': only mode = 'files'"),
        ({"mode": "files"}, "option path is missing"),
        ({"startingOffsets": "soon"}, "option startingOffsets = 'soon': must be earliest"),
        (
            {"startingOffsets": "latest", "startingTimestamp": "1700000000000"},
            "startingOffsets and startingTimestamp contra",
        ),
        ({"endingTimestamp": "x"}, "option endingTimestamp = 'x'"),
        (
            {"endingTimestamp": "2023-11-14"},
            "option endingTimestamp = '2023-11-14': 2023-11-14 names no zone",
        ),
        ({"endingTimestamp": "1700000000"}, "option endingTimestamp = '1700000000': .*counts seconds"),
        ({"timeZone": "Berlin"}, "'Berlin' is no time zone"),
        (
            {"startingOffsets": "latest", "endingOffsets": "earliest"},
            "options startingOffsets = 'latest' and endingOffsets = 'earliest' contradict",
        ),
        (
            {"startingTimestamp": "1700000002000", "endingTimestamp": "2023-11-14T22:13:21Z"},
            "options startingTimestamp = '1700000002000' and endingTimestamp = '2023-11-14T22:13:21Z' contra",
        ),
        (
            {"startingOffsets": '{"orders": {"a/0": 5}}', "endingOffsets": '{"orders": {"a/0": 4}}'},
            "startingOffsets = .* and endingOffsets = .* contradict",
        ),
        (
            {"startingOffsets": '{"x": {"a/0": 5}}'},
            "option startingOffsets = .*: topic x is not one of those",
        ),
        (
            {"topic": None, "topicPattern": "or.*", "endingOffsets": '{"x": {"a/0": 5}}'},
            "option endingOffsets = .*: topic x is not one of those to read",
        ),
        ({"maxOffsetsPerTrigger": "0"}, "option maxOffsetsPerTrigger = '0'"),
        ({"maxOffsetsPerTrigger": "1e3"}, "option maxOffsetsPerTrigger = '1e3'"),
        ({"minPartitions": "-1"}, "option minPartitions = '-1'"),
        ({"maxTriggerDelay": "5m"}, "option maxTriggerDelay = '5m': needs option minOffsetsPerTrigger"),
        (
            {"minOffsetsPerTrigger": "5", "maxTriggerDelay": "soon"},
            "option maxTriggerDelay = 'soon': must be a number with a unit: ms, s, m, h or d",
        ),
        (
            {"minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "4"},
            "minOffsetsPerTrigger = '5' and maxOffsetsPerTrigger = '4' contradict",
        ),
        ({"retries": "-1"}, "option retries = '-1': must be within 0 and 100"),
        ({"retryIntervalMs": "0"}, "option retryIntervalMs = '0'"),
        (
            {"endingTimestamp": '{"x": {"a/0": 1700000000000}}'},
            "option endingTimestamp = .*: topic x is not one of those to read",
        ),
        ({"columns": "body,nope"}, "option columns = 'body,nope': name each once, of topic, broker"),
        ({"columns": "body,body"}, "option columns"),
        ({"failOnDataLoss": "maybe"}, "option failOnDataLoss = 'maybe': must be true or false"),
        ({"group": "a b"}, "option group = 'a b'"),
        ({"commitToGroup": "a b"}, "option commitToGroup = 'a b'"),
    ],
)
def test_what_is_wrong_is_named_with_its_value(change, said, monkeypatch) -> None:
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    given = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    with pytest.raises(SettingError, match=said):
        parse_options(given)


def test_a_folder_without_a_store_is_refused(store, tmp_path) -> None:
    given = {"mode": "files", "topic": "t"}
    with pytest.raises(SettingError, match=r"option path = .*there is no store"):
        parse_options({**given, "path": str(tmp_path)})
    with pytest.raises(SettingError, match="different names"):
        parse_options({**given, "path": f"{store},{store}"})
    with pytest.raises(SettingError, match="path and nameserver contradict"):
        parse_options({**given, "path": str(store), "nameserver": "h:1"})


def test_what_only_a_stream_has_is_refused_to_a_batch() -> None:
    options = parse_options({**GOOD, "maxBytesPerTrigger": "1"})
    with pytest.raises(SettingError, match="option maxBytesPerTrigger = '1': only streams"):
        options.refuse(STREAM_ONLY, "only streams have it")
