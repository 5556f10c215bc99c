"""Where requests come from: addresses, and the networks that rules name."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import attrs

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
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
class WhiteList:
    """Addresses as `plain_acl.yml` writes them (source: RemoteAddressStrategyFactory.java).

    `quads`: for each pattern of IPv4 the numbers that its four parts may be.
    """

    networks: tuple[Network, ...] = ()
    quads: tuple[tuple[frozenset[int], ...], ...] = ()
    everybody: bool = False

    def __contains__(self, address: Address | None) -> bool:
        if self.everybody or within(address, self.networks):
            return True
        if not isinstance(address, IPv4Address):
            return False
        return any(
            all(number in part for number, part in zip(address.packed, quad, strict=True))
            for quad in self.quads
        )


def addresses(text: str) -> list[str]:
    """The parts of `text`, which commas separate but for those in braces."""
    return [part.strip() for part in _PARTS.split(text) if part.strip()]


def white_list(text: str) -> WhiteList:
    """What `text` stands for: addresses, parts of which may be *, 1-9 or {1,2}, networks, commas; "": none.

    Raises ValueError.
    """
    networks, quads = [], []
    for part in addresses(text):
        if part in ("*", "*.*.*.*"):
            return WhiteList(everybody=True)
        if set(part) & set("*-{"):
            quads.append(_quad(part))
        else:
            networks.append(network(part))
    return WhiteList(tuple(networks), tuple(quads))


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
