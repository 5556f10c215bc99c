"""What a broker's counters say at a glance."""

from __future__ import annotations

import pytest
from mqframe_admin.bodies import BrokerLoad, broker_load


@pytest.mark.parametrize("spelling", ["getTransferredTps", "getTransferedTps"])
def test_a_load_is_that_of_the_last_ten_seconds(spelling: str) -> None:
    counters = {
        "brokerVersionDesc": "V5_3_3",
        "putTps": "120.26 100.0 90.0",
        spelling: "7.04 6.0 5.0",
        "commitLogDiskRatio": "0.7512",
    }
    assert broker_load(counters) == BrokerLoad("V5_3_3", 120.3, 7.0, 75.1)


def test_what_a_broker_does_not_tell_is_no_load() -> None:
    assert broker_load({}) == BrokerLoad("", 0.0, 0.0, 0.0)
    assert broker_load({"putTps": " ", "commitLogDiskRatio": "none"}) == BrokerLoad("", 0.0, 0.0, 0.0)
