"""What a broker says of itself: address, host in records, message ids."""

from __future__ import annotations

import pytest

from mqframe.broker.settings import BrokerSettings
from mqframe.broker.tables.identity import Identity
from mqframe.core.errors import SettingError


def test_the_port_is_taken_over_once_it_is_known():
    identity = Identity(BrokerSettings(name="b", cluster="c", host="127.0.0.1", port=0))
    identity.settle(10911)
    assert (identity.name, identity.cluster, identity.address) == ("b", "c", "127.0.0.1:10911")
    assert identity.store_host == bytes([127, 0, 0, 1, 0, 0, 0x2A, 0x9F])


def test_ids_are_host_and_log_offset_in_hexadecimal():
    identity = Identity(BrokerSettings(host="127.0.0.1", port=10911))
    first, second = "7F00000100002A9F0000000000000000", "7F00000100002A9F00000000000003E8"
    assert (identity.offset_id(0), identity.offset_id(1000)) == (first, second)
    assert identity.offset_ids([0, 1000]) == f"{first},{second}"
    assert identity.offset_ids([1000]) == second


def test_an_advertised_host_goes_before_the_one_listened_on():
    identity = Identity(BrokerSettings(host="0.0.0.0", advertise="127.0.0.9", port=5))
    assert identity.address == "127.0.0.9:5"
    assert identity.store_host[:4] == bytes([127, 0, 0, 9])


@pytest.mark.parametrize("host", ["::1", "[::1]"])
def test_an_ipv6_address_is_written_in_brackets(host):
    identity = Identity(BrokerSettings(host="127.0.0.1", advertise=host, port=7))
    assert identity.address == "[::1]:7"
    assert identity.store_host == bytes(15) + b"\1" + bytes([0, 0, 0, 7])
    assert identity.offset_id(1) == f"{identity.store_host.hex().upper()}0000000000000001"


def test_a_host_without_an_address_is_an_error_of_the_setting():
    with pytest.raises(SettingError, match=r"broker\.advertise: 'no host' has no address"):
        Identity(BrokerSettings(advertise="no host"))
