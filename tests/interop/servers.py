"""What tests know of the servers that they run against, whoever made these."""

from __future__ import annotations

from typing import NamedTuple


class Servers(NamedTuple):
    """A name server and the one broker that is registered with it.

    `nameserver`, `broker`: addresses, "ip:port"; `broker_name`, `cluster`: what the broker calls itself.
    """

    nameserver: str
    broker: str
    broker_name: str
    cluster: str
