"""Identity of the broker: name, cluster, and the address in routes, records and message ids."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

from mqframe.broker.settings import BrokerSettings
from mqframe.core.errors import SettingError
from mqframe.core.messages.addresses import encode_host
from mqframe.net.addresses import address_text


class Identity:
    """Name, cluster and address of the broker; the port is known once it listens.

    `address`: "host:port" that clients are told; `store_host`: the packed IP and port that go into records
    and offset ids; `broker_id`: 0 for a master; `role`: by Apache's names; `replication_port`: where
    the log is copied, 0 where that is not possible; `state_version`: goes along with registrations, so that
    name servers ignore who was master before: 0 where roles are set by hand, else greater with each change.
    Raises `SettingError` for an advertised host that has no address.
    """

    __slots__ = (
        "_host", "_ip", "_offset_id_prefix", "address", "broker_id", "cluster", "name", "replication_port",
        "role", "state_version", "store_host",
    )  # fmt: skip

    def __init__(self, settings: BrokerSettings, broker_id: int = 0, role: str = "ASYNC_MASTER") -> None:
        self.broker_id, self.role = broker_id, role
        self.replication_port = 0
        self.state_version = 0
        self.name = settings.name
        self.cluster = settings.cluster
        self._host = _advertised_host(settings)
        self._ip = _resolve(self._host)
        self.settle(settings.port)

    def settle(self, port: int) -> None:
        """Take over the port that is listened on."""
        self.address = address_text((self._host, port))
        self.store_host = encode_host(address_text((self._ip, port)))
        self._offset_id_prefix = self.store_host.hex().upper()

    @property
    def replication_address(self) -> str:
        """As "host:port"; where there is none, of the port behind the broker's, as Apache's masters say."""
        port = self.replication_port or int(self.address.rpartition(":")[2]) + 1
        return address_text((self._host, port))

    def offset_id(self, commit_log_offset: int) -> str:
        """The id of the record at `commit_log_offset` (bytes)."""
        return f"{self._offset_id_prefix}{commit_log_offset:016X}"

    def offset_ids(self, commit_log_offsets: Sequence[int]) -> str:
        """The ids of several records, comma-joined."""
        prefix, count = self._offset_id_prefix, len(commit_log_offsets)
        digits = struct.pack(f">{count}q", *commit_log_offsets).hex().upper()
        return ",".join([prefix + digits[at : at + 16] for at in range(0, 16 * count, 16)])


def _advertised_host(settings: BrokerSettings) -> str:
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


def _resolve(host: str) -> str:
    """An IP address of `host`, IPv4 before IPv6."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as problem:
        raise SettingError(
            f"broker.advertise: {host!r} has no address ({problem}); name a host that clients can reach"
        ) from None
    found.sort(key=lambda item: item[0] != socket.AF_INET)
    return str(found[0][4][0])
