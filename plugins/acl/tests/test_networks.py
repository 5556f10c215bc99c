"""Addresses and networks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_acl.networks import caller_address, network, white_list, within


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("10.1.2.3:4711", "10.1.2.3"),
        ("[::1]:4711", "::1"),
        ("[::ffff:10.1.2.3]:4711", "10.1.2.3"),
        ("[fe80::1%eth0]:1", "fe80::1"),
        ("", "None"),
        ("unix", "None"),
        ("host:1", "None"),
    ],
)
def test_the_host_of_a_connection(address: str, text: str) -> None:
    assert str(caller_address(address)) == text


def test_networks_hold_addresses_of_their_family() -> None:
    networks = (network("10.0.0.0/8"), network(" 192.168.1.7 "), network("2001:db8::/32"))
    inside = ["10.255.0.1:1", "192.168.1.7:1", "[2001:db8::5]:1", "[::ffff:10.0.0.1]:1"]
    outside = ["11.0.0.1:1", "192.168.1.8:1", "[2001:db9::5]:1", "nonsense"]
    assert all(within(caller_address(each), networks) for each in inside)
    assert not any(within(caller_address(each), networks) for each in outside)
    assert not within(None, networks)


@pytest.mark.parametrize("text", ["10.0.0.0/33", "300.1.1.1", "host", "10.0.0", ""])
def test_what_is_no_network(text: str) -> None:
    with pytest.raises(ValueError, match="does not appear to be"):
        network(text)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("", [], ["10.1.1.1", "::1"]),
        ("*", ["10.1.1.1", "::1"], []),
        ("*.*.*.*", ["10.1.1.1"], []),
        ("10.1.1.1", ["10.1.1.1"], ["10.1.1.2"]),
        ("10.1.1.1, 10.1.1.3", ["10.1.1.1", "10.1.1.3"], ["10.1.1.2"]),
        ("192.168.1.*", ["192.168.1.0", "192.168.1.255"], ["192.168.2.1", "::1"]),
        ("192.168.*.*", ["192.168.1.0", "192.168.77.255"], ["192.169.2.1"]),
        ("192.168.1.1-10", ["192.168.1.1", "192.168.1.10"], ["192.168.1.11", "192.168.1.0"]),
        ("192.168.1.{1,7}", ["192.168.1.1", "192.168.1.7"], ["192.168.1.2"]),
        ("192.168.1.{1,7},10.0.0.1", ["192.168.1.7", "10.0.0.1"], ["192.168.1.2"]),
        ("10.0.0.0/8", ["10.9.9.9"], ["11.0.0.1"]),
        ("::1", ["::1"], ["::2"]),
        ("*:*:*:*:*:*:*:*", ["10.1.1.1", "::1"], []),
        ("10.0.0.1, *:*:*:*:*:*:*:*", ["10.1.1.1", "fe80::1"], []),
        ("fe80::*", ["fe80::1", "fe80::a:b:c:d", "fe80:0:7::1"], ["fe80:1::1", "fe81::1", "10.1.1.1"]),
        ("1050:5:600:300c:*", ["1050:5:600:300c::1", "1050:5:600:300c:1:2:3:4"], ["1050:5:600:300d::1"]),
        ("1050::5:600:300c:*", ["1050::5:600:300c:0", "1050::5:600:300c:ffff"], ["1050::5:600:300d:1"]),
        ("1050::5:600:300c:2-1f", ["1050::5:600:300c:2", "1050::5:600:300c:1f"], ["1050::5:600:300c:20"]),
        ("2::ac5:78:1-200:*", ["2::ac5:78:1:0", "2::ac5:78:200:ffff"], ["2::ac5:78:201:1", "2::ac5:79:1:1"]),
        ("fe80::{1,a}", ["fe80::1", "FE80:0::A"], ["fe80::2"]),
        ("1050::{1,3},10.0.0.1", ["1050::3", "10.0.0.1"], ["1050::2"]),
        ("1:2:3:4:5:6:7:*", ["1:2:3:4:5:6:7:8"], ["1:2:3:4:5:6:8:8"]),
    ],
)
def test_white_lists_of_plain_acl(text: str, inside: list[str], outside: list[str]) -> None:
    found = white_list(text)
    for each in inside + outside:
        address = caller_address(f"[{each}]:1" if ":" in each else f"{each}:1")
        assert (address in found) == (each in inside)
    assert (None in found) == found.everybody == ("*.*.*.*" in text or text == "*" or "*:*:" in text)


BAD_LISTS = ("192.168.1", "192.*", "1.2.3.{}", "1.2.3.x-9", "1.2.3.0-256", "1.2.3.9-1", "a.b.c.*")
BAD_LISTS += (
    "::*",
    "fe80:*:1",
    "fe80::{1,2}:3",
    "fe80::9-1",
    "fe80::x-9",
    "fe80::1-10000",
    "1:2:3:4:5:6:7:8:*",
)


@pytest.mark.parametrize("text", BAD_LISTS)
def test_what_is_no_white_list(text: str) -> None:
    with pytest.raises(ValueError, match=r"appear to be|pattern of|part of an|invalid literal|group"):
        white_list(text)


@given(st.text(alphabet="0123456789.*-{},:/ abf", max_size=30))
def test_white_lists_are_taken_or_refused(text: str) -> None:
    try:
        found = white_list(text)
    except ValueError:
        return
    assert isinstance(caller_address("10.1.1.1:1") in found, bool)
    assert isinstance(caller_address("[fe80::1]:1") in found, bool)
