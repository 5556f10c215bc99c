"""The table of RocketMQ's keys: each means something, and none is refused for its name."""

import re

import pytest
from mqframe_cli.settings.properties_file import broker_conf
from mqframe_cli.settings.rocketmq_keys import DOCUMENTED, JAVA_PROPERTIES, KEYS_BY_PART, ROCKETMQ_KEYS
from mqframe_cli.settings.rocketmq_meanings import HINTS, REFUSED, RENAMED, ROCKETMQ, Meaning, meaning

from mqframe.core.config.configuration import resolve


def test_keys_are_written_as_in_a_broker_conf() -> None:
    assert len(ROCKETMQ_KEYS) > 500
    assert [key for key in ROCKETMQ_KEYS if not re.fullmatch(r"[a-z][A-Za-z0-9]+", key)] == []


@pytest.mark.parametrize("key", sorted(ROCKETMQ_KEYS | JAVA_PROPERTIES))
def test_every_key_of_the_table_is_classified_and_taken(key: str) -> None:
    assert isinstance(meaning(key), Meaning)
    for value in ("", "false"):
        resolved = resolve([], [broker_conf(f"{key}={value}", "broker.conf")], dialect=ROCKETMQ)
        assert sum(key in re.split(r"[ ,:]+", text) for text in resolved.warnings) == 1


def test_keys_of_the_three_versions_are_there() -> None:
    assert KEYS_BY_PART.keys() == {
        "broker", "store", "network", "access", "name server", "controller", "proxy", "client",
    }  # fmt: skip
    of_4_9 = {"haSlaveFallbehindMax", "filterServerNums", "commercialEnable", "dLegerSelfId"}
    of_5_5 = {"transRocksDBEnable", "enableLiteEventMode", "jRaftGroupId", "dLegerPeers"}
    assert of_4_9 | of_5_5 <= ROCKETMQ_KEYS
    assert all(len(keys) >= 20 for keys in KEYS_BY_PART.values())


def test_keys_with_a_meaning_of_their_own_are_in_the_table() -> None:
    assert {*HINTS, *REFUSED, *RENAMED, *RENAMED.values()} <= ROCKETMQ_KEYS
    assert DOCUMENTED.isdisjoint(set().union(*KEYS_BY_PART.values()))
    assert meaning("listenPrt") is None


@pytest.mark.parametrize(
    "key",
    [
        "brokerName",
        "brokerClusterName",
        "brokerIP1",
        "listenPort",
        "haListenPort",
        "namesrvAddr",
        "flushDiskType",
        "brokerRole",
        "storePathRootDir",
        "deleteWhen",
        "fileReservedTime",
        "flushConsumerOffsetInterval",
        "timerWheelEnable",
        "enableControllerMode",
        "isBrokerContainer",
        "timerStopDequeue",
    ],
)
def test_well_known_keys_are_there(key: str) -> None:
    assert key in ROCKETMQ_KEYS
