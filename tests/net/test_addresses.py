"""Addresses of sockets as text."""

from __future__ import annotations

import pytest

from mqframe.net.addresses import address_text


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (("10.0.0.1", 80), "10.0.0.1:80"),
        (("::1", 10911, 0, 0), "[::1]:10911"),
        ("/run/socket", "/run/socket"),
        (None, ""),
    ],
)
def test_addresses_as_text(address, text) -> None:
    assert address_text(address) == text
