"""Settings that concern services, as they are in force."""

from pathlib import Path

from mqframe.broker.settings import BrokerSettings
from mqframe.broker.tables.in_force import InForce
from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.store.settings import StoreSettings


def test_what_operators_change_counts_at_once() -> None:
    live = LiveSettings(
        BrokerSettings(region="north", trace_on=False, pull_bytes_max=7, cold_pull_bytes_max=5),
        StoreSettings(directory=Path("nowhere"), keep_hours=3),
    )
    in_force = InForce(live)
    assert (in_force.permission, in_force.region, in_force.trace_on) == (6, "north", False)
    assert (in_force.pull_bytes_max, in_force.cold_pull_bytes_max, in_force.keep_hours) == (7, 5, 3)
    live.change("brokerPermission=4\nmaxTransferBytesOnMessageInMemory=9\nfileReservedTime=1")
    assert (in_force.permission, in_force.pull_bytes_max, in_force.keep_hours) == (4, 9, 1)
