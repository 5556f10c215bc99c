import re

import pytest
from mqframe_spark.kafka_options import INSTEAD, instead
from mqframe_spark.sink.options import SINK_NAMES, parse_sink_options
from mqframe_spark.source.options import NAMES, parse_options

from mqframe.core.errors import SettingError


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("subscribe", "write topic, or topics"),
        ("subscribePattern", "write topicPattern"),
        ("kafka.bootstrap.servers", "write nameserver"),
        ("kafka.ssl.truststore.location", "tlsCaFile"),
        ("kafka.sasl.jaas.config", "write accessKey and secretKey"),
        ("kafka.linger.ms", "leave it out"),
        ("fetchOffset.numRetries", "write retries"),
    ],
)
def test_options_of_kafka_are_answered_with_what_to_write(name: str, told: str) -> None:
    assert told in instead(name)
    for parse in (parse_options, parse_sink_options):
        with pytest.raises(SettingError) as caught:
            parse({"nameserver": "n:1", "topic": "t", name: "hidden"})
        assert str(caught.value).startswith(f"unknown option {name}")
        assert told in str(caught.value)
        assert "jaas" not in name or "hidden" not in str(caught.value)


def test_nothing_that_is_known_here_is_answered_so() -> None:
    assert [name for name in (*NAMES, *SINK_NAMES) if instead(name)] == []
    assert all(name == name.lower() for name in INSTEAD)


def test_offsets_by_partition_are_answered_with_queues() -> None:
    given = {"nameserver": "n:1", "topic": "orders", "startingOffsets": '{"orders": {"0": 23}}'}
    with pytest.raises(SettingError, match=r"'0': 23 .*queues belong to brokers: write .*\"broker-a/0\": 23"):
        parse_options(given)


def test_answers_name_what_there_is() -> None:
    known = {*NAMES, *SINK_NAMES}
    words = {name: re.findall(r"\bwrite (\w+)", told) for name, told in INSTEAD.items()}
    assert {name: word for name, found in words.items() for word in found if word not in known} == {}
