"""Which of several name servers is asked: one at a time, the next one when it fails."""

from __future__ import annotations

from collections.abc import Iterator

from mqframe.core.errors import SettingError


def parse_addresses(text: str) -> tuple[str, ...]:
    """Addresses in "host:port;host:port" (commas are taken too). Raises `SettingError` naming the bad one."""
    addresses = []
    for entry in text.replace(",", ";").split(";"):
        address = entry.strip().removeprefix("http://")
        if not address:
            continue
        host, _, port = address.rpartition(":")
        if not host or not (port.isascii() and port.isdecimal()) or not 0 < int(port) < 65536:
            raise SettingError(f"name server address {address!r} is not host:port, as in 127.0.0.1:9876")
        addresses.append(address)
    if not addresses:
        raise SettingError(
            'no name server: pass nameserver="host:port" or set NAMESRV_ADDR, as in 127.0.0.1:9876'
        )
    return tuple(dict.fromkeys(addresses))


class NameServers:
    """Addresses of name servers. Each holds the same, so whichever answers is asked again.

    `start`: a random number, so that clients spread over the servers.
    """

    __slots__ = ("_at", "addresses")

    def __init__(self, addresses: tuple[str, ...], start: int = 0) -> None:
        self.addresses = addresses
        self._at = start % len(addresses)

    @property
    def current(self) -> str:
        """The one to ask."""
        return self.addresses[self._at]

    def tries(self) -> Iterator[str]:
        """Every address once, the present one first. Asking for the next moves on for later calls as well."""
        for _ in self.addresses:
            address = self.current
            yield address
            if self.current == address:
                self._at = (self._at + 1) % len(self.addresses)
