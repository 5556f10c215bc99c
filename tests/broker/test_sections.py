"""Which settings of a broker go together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mqframe_replication.settings import ReplicationSettings

from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.core.delay.levels import USUAL_DELAYS
from mqframe.core.errors import SettingError
from mqframe.store.settings import StoreSettings


def sections(broker: dict[str, Any], **replication: Any) -> BrokerSections:
    store = StoreSettings(directory=Path("store"))
    return BrokerSections(BrokerSettings(**broker), store, replication=ReplicationSettings(**replication))


def test_a_broker_is_alone_unless_it_is_told() -> None:
    alone = BrokerSections(BrokerSettings(), StoreSettings(directory=Path("store")))
    assert (alone.is_slave, alone.broker_id, alone.role) == (False, 0, "ASYNC_MASTER")


def test_any_master_has_number_0() -> None:
    master = sections({}, role="SYNC_MASTER", id=3)
    assert (master.is_slave, master.broker_id, master.role) == (False, 0, "SYNC_MASTER")


def test_a_slave_has_its_own_number() -> None:
    slave = sections({"nameservers": ("a:9876",)}, role="SLAVE", id=3)
    assert (slave.is_slave, slave.broker_id, slave.role) == (True, 3, "SLAVE")


@pytest.mark.parametrize(
    ("broker", "number", "said"),
    [
        ({"nameservers": ("a:9876",)}, 0, "brokerId"),
        ({"nameservers": ()}, 1, "broker.nameservers"),
        ({"nameservers": ("a:9876",), "services": ("mine",)}, 1, "broker.services = mine"),
    ],
)
def test_a_slave_that_cannot_work_is_a_bad_setting(broker: dict[str, Any], number: int, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        sections(broker, role="SLAVE", id=number)


def test_the_store_counts_by_the_delays_that_are_configured_whoever_delivers() -> None:
    store = StoreSettings(directory=Path("store"))
    assert BrokerSections(BrokerSettings(), store).delays == USUAL_DELAYS
    store = StoreSettings(directory=Path("store"), delay_levels="1s 2m")
    assert BrokerSections(BrokerSettings(), store).delays == (1000, 120_000)
