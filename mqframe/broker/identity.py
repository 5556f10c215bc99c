"""Who this broker is, as its answers, its records and the name servers say it."""

from __future__ import annotations

import socket

from mqframe.broker.settings import BrokerSettings
from mqframe.core.host import encode_host


class Identity:
    """Name, cluster and address of the broker; the address is known once it listens.

    `address`: "host:port" that clients are told; `store_host`: the packed IP and port that go into records
    and offset ids.
    """

    __slots__ = ("address", "cluster", "name", "offset_id_prefix", "store_host")

    def __init__(self, settings: BrokerSettings) -> None:
        self.name = settings.name
        self.cluster = settings.cluster
        self.address = ""
        self.store_host = b""
        self.offset_id_prefix = ""

    def settle(self, host: str, ip: str, port: int) -> None:
        """Take over the advertised host, its IP address and the port that is listened on."""
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.store_host = encode_host(f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}")
        self.offset_id_prefix = self.store_host.hex().upper()

    def offset_id(self, commit_log_offset: int) -> str:
        """The id of the record at `commit_log_offset` (bytes)."""
        return f"{self.offset_id_prefix}{commit_log_offset:016X}"


def advertised_host(settings: BrokerSettings) -> str:
    """The host that clients are told: as configured, else the one listened on, else this machine's own."""
    if settings.advertise:
        return settings.advertise.strip("[]")
    host = settings.host.strip("[]")
    if host not in ("", "0.0.0.0", "::"):
        return host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: asks which of our addresses leads outward
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def resolve(host: str) -> str:
    """An IP address of `host`, IPv4 before IPv6. Raises `OSError` when it has none."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    found.sort(key=lambda item: item[0] != socket.AF_INET)
    return str(found[0][4][0])
