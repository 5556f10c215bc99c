from __future__ import annotations

import pytest
from hypothesis import given
from strategies import hosts

from mqframe.core.messages.addresses import decode_host, encode_host


@given(hosts)
def test_hosts_survive(packed: bytes) -> None:
    assert encode_host(decode_host(packed)) == packed


def test_forms() -> None:
    assert encode_host("127.0.0.1:10911") == bytes([127, 0, 0, 1, 0, 0, 0x2A, 0x9F])
    assert decode_host(encode_host("[::1]:5")) == "[::1]:5"


@pytest.mark.parametrize("address", ["", "localhost:1", "1.2.3.4", "1.2.3.4:x", "1.2.3.4:-1"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises((ValueError, OverflowError)):
        encode_host(address)
