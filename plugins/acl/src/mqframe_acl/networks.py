"""Where requests come from: addresses, and the networks that rules name."""

from __future__ import annotations

import re
import struct
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import attrs

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
_GROUP_MAX = 0xFFFF
_EVERYBODY = ("*", "*.*.*.*", "*:*:*:*:*:*:*:*")
_PARTS = re.compile(r",(?![^{]*\})")
"""A comma that stands in no braces."""


def caller_address(address: str) -> Address | None:
    """The host of "ip:port"; `None` for what is no IP address. IPv4 in an IPv6 dress is IPv4."""
    host = address.rpartition(":")[0].strip("[]").partition("%")[0]
    try:
        found = ip_address(host)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def network(text: str) -> Network:
    """An address, or a network as "10.0.0.0/8". Raises ValueError."""
    return ip_network(text.strip(), strict=False)


def within(address: Address | None, networks: tuple[Network, ...]) -> bool:
    """Whether `address` lies in one of them; a family of addresses is in no network of the other."""
    return address is not None and any(address in each for each in networks)


@attrs.frozen
class Groups:
    """IPv6 addresses that begin with the groups `head`, and whose next group is from `low` to `high`."""

    head: tuple[int, ...]
    low: int
    high: int

    def __contains__(self, address: IPv6Address) -> bool:
        groups = struct.unpack(">8H", address.packed)
        count = len(self.head)
        return groups[:count] == self.head and self.low <= groups[count] <= self.high


@attrs.frozen
class WhiteList:
    """Addresses as `plain_acl.yml` writes them (source: RemoteAddressStrategyFactory.java).

    `quads`: for each pattern of IPv4 the numbers that its four parts may be; `groups`: patterns of IPv6.
    """

    networks: tuple[Network, ...] = ()
    quads: tuple[tuple[frozenset[int], ...], ...] = ()
    groups: tuple[Groups, ...] = ()
    everybody: bool = False

    def __contains__(self, address: Address | None) -> bool:
        if self.everybody or within(address, self.networks):
            return True
        if isinstance(address, IPv6Address):
            return any(address in each for each in self.groups)
        return address is not None and any(
            all(number in part for number, part in zip(address.packed, quad, strict=True))
            for quad in self.quads
        )


def addresses(text: str) -> list[str]:
    """The parts of `text`, which commas separate but for those in braces."""
    return [part.strip() for part in _PARTS.split(text) if part.strip()]


def white_list(text: str) -> WhiteList:
    """What `text` stands for: addresses, networks and patterns, with commas between; "": none.

    Of IPv4 each part may be *, 1-9 or {1,2}. Of IPv6 the last group may be * or {1,2}, and the one before a
    last *, or the last one, 1-9. Raises ValueError.
    """
    networks: list[Network] = []
    quads, groups = [], []
    for part in addresses(text):
        if part in _EVERYBODY:
            return WhiteList(everybody=True)
        if ":" in part and "{" in part:
            networks += _listed(part)
        elif ":" in part and set(part) & set("*-"):
            groups.append(_groups(part))
        elif set(part) & set("*-{"):
            quads.append(_quad(part))
        else:
            networks.append(network(part))
    return WhiteList(tuple(networks), tuple(quads), tuple(groups))


def _listed(text: str) -> list[Network]:
    """The addresses of "fe80::{1,2}"."""
    head, _, rest = text.partition("{")
    if not head.endswith(":") or not rest.endswith("}"):
        raise ValueError(f"{text!r}: only the last group of an IPv6 address may be a list in braces")
    return [network(head + each.strip()) for each in rest[:-1].split(",")]


def _groups(text: str) -> Groups:
    """What a pattern of IPv6 stands for.

    As RocketMQ 4.9 reads it: what is left of the pattern is filled up to seven groups, or to six before
    "1-9:*", where "::" stands between two of them. Where it stands at their end, as in "fe80::*", it is one
    group of zero, and all that follows it is free.
    """
    *left, last = text.split(":")
    if last == "*" and left and "-" in left[-1]:
        last, room = left.pop(), 6
    else:
        room = 7
    if last == "*":
        low, high = 0, _GROUP_MAX
    else:
        first, _, end = last.partition("-")
        low, high = _group(first), _group(end)
    if low > high or not left or not left[0]:
        raise ValueError(f"{text!r} is no pattern of an IPv6 address")
    if "" in left[:-1]:
        at = left.index("")
        left[at : at + 1] = ["0"] * (room - len(left) + 1)
    head = tuple(_group(each or "0") for each in left)
    if len(head) > 7:
        raise ValueError(f"{text!r} has more than eight groups")
    return Groups(head, low, high)


def _group(text: str) -> int:
    value = int(text, 16)
    if not 0 <= value <= _GROUP_MAX:
        raise ValueError(f"{text!r} is no group of an IPv6 address")
    return value


def _quad(text: str) -> tuple[frozenset[int], ...]:
    parts = text.split(".")
    if len(parts) != 4:
        raise ValueError(f"{text!r} is no pattern of four numbers")
    return tuple(map(_numbers, parts))


def _numbers(part: str) -> frozenset[int]:
    """The numbers that one part of an address stands for. Raises ValueError."""
    if part == "*":
        return frozenset(range(256))
    found: set[int] = set()
    for each in part.strip("{}").split(","):
        low, _, high = each.partition("-")
        found.update(range(int(low), int(high or low) + 1))
    if not found or min(found) < 0 or max(found) > 255:
        raise ValueError(f"{part!r} is no part of an address")
    return frozenset(found)
