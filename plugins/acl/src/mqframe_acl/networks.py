"""Where requests come from: addresses, and the networks that rules name."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


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
