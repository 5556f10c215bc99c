import re

import pytest

from mqframe.core.config.rocketmq_keys import ROCKETMQ_KEYS


def test_keys_are_written_as_in_a_broker_conf() -> None:
    assert len(ROCKETMQ_KEYS) > 500
    assert [key for key in ROCKETMQ_KEYS if not re.fullmatch(r"[a-z][A-Za-z0-9]+", key)] == []


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
