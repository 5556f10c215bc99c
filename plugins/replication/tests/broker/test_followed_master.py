"""What all slaves say of themselves, and how they connect."""

from __future__ import annotations

from pathlib import Path

import pytest
from mqframe_replication.broker.followed_master import dialer_of, hello_of, is_secured
from mqframe_replication.rules.hello import Hello
from mqframe_replication.settings import ReplicationSettings
from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.net.settings import NetSettings
from mqframe.store.settings import StoreSettings


def sections(net: NetSettings | None = None, **replication: str) -> BrokerSections:
    return BrokerSections(
        BrokerSettings(cluster="C", name="broker-b", nameservers=("127.0.0.1:1",)),
        StoreSettings(directory=Path("nowhere"), commit_log_file_bytes=1 << 20),
        net or NetSettings(),
        replication=ReplicationSettings(role="SLAVE", id=3, **replication),
    )


def test_a_slave_says_which_broker_it_is_of_and_which_start_of_it() -> None:
    assert hello_of(sections(), "first") == Hello("C", "broker-b", 3, 1 << 20, end=0, boot="first")


@pytest.mark.parametrize(
    ("tls", "setting", "secured"),
    [(True, "as_broker", True), (True, "off", False), (False, "as_broker", False)],
)
def test_tls_is_spoken_where_all_connections_do_unless_it_is_switched_off(
    tls: bool, setting: str, secured: bool
) -> None:
    assert is_secured(sections(NetSettings(tls=tls), tls=setting)) is secured


def test_nobody_says_hello_before_it_is_known_who_the_master_is() -> None:
    dialer = dialer_of(sections(), ManualClock())
    assert (dialer.introduce, dialer.signer) == (None, None)
