"""A TLS session without any I/O: bytes in, bytes out."""

from __future__ import annotations

import contextlib
import ssl
from typing import Any, Final

_READ_BYTES: Final = 256 * 1024


class TlsPipe:
    """One side of a TLS session; touches no socket. Not for several threads at once.

    After each call `outgoing()` may have something for the other side. `established`: the handshake is done.
    `ended`: the other side said that nothing more will come. Errors are those of `ssl.SSLError`.
    """

    __slots__ = ("_incoming", "_outgoing", "_session", "ended", "established")

    def __init__(
        self, context: ssl.SSLContext, *, server_side: bool = False, host: str | None = None
    ) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._session = context.wrap_bio(
            self._incoming, self._outgoing, server_side=server_side, server_hostname=host
        )
        self.established = False
        self.ended = False
        if not server_side:
            self._shake()

    def receive(self, data: bytes) -> bytes:
        """Take `data` of the other side in; returns all that can be read of it now."""
        self._incoming.write(data)
        if not self.established and not self._shake():
            return b""
        parts: list[bytes] = []
        try:
            while part := self._session.read(_READ_BYTES):
                parts.append(part)
            self.ended = True
        except ssl.SSLWantReadError:
            pass  # the rest of a record has still to come
        except ssl.SSLZeroReturnError:
            self.ended = True
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def send(self, data: bytes | bytearray | memoryview) -> bytes:
        """`data` as the other side is to get it, after whatever waited in `outgoing()`."""
        rest = memoryview(data)
        while rest:
            rest = rest[self._session.write(rest) :]
        return self._outgoing.read()

    def outgoing(self) -> bytes:
        """Bytes that the session itself has for the other side."""
        return self._outgoing.read() if self._outgoing.pending else b""

    @property
    def peer_name(self) -> str:
        """The common name in the certificate of the other side; "" where it showed none that is trusted."""
        subject: Any = (self._session.getpeercert() or {}).get("subject", ())
        names = [str(value) for part in subject for key, value in part if key == "commonName"]
        return names[0] if names else ""

    def farewell(self) -> bytes:
        """What says that nothing more will come from this side."""
        # The other side need not say the same, and a session that broke has nothing to say.
        with contextlib.suppress(ssl.SSLError):
            self._session.unwrap()
        return self._outgoing.read()

    def _shake(self) -> bool:
        try:
            self._session.do_handshake()
        except ssl.SSLWantReadError:
            return False
        self.established = True
        return True
