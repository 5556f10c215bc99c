"""The clients of the door: what is kept of each, by the id that it gives itself.

A client may have several connections; to the brokers it is one, as to Apache's proxy.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from typing import Any, Final

from mqframe.core.codes import LANGUAGE_NUMBERS
from mqframe.core.errors import ConnectionLost, TooMuchInFlight
from mqframe.core.requests.fields import Request
from mqframe.core.requests.serving import Reply
from mqframe.core.wire.frame import Body
from mqframe.hooks.interfaces import ProxiedClient
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.transport.call import GrpcCall

CLIENT_ID: Final = "x-mq-client-id"
CLIENT_ID_CHARS_MAX: Final = 255
OWN_ID: Final = "mqframe-grpc"
_LANGUAGES: Final = {"GOLANG": "GO", "DOT_NET": "DOTNET"}
_ASKED_MAX: Final = 64
"""So much may be asked of a client at a time."""


class DoorClient(ProxiedClient):
    """One client. `settings`: what it has told, as they were answered; `stream`: where commands go to it.

    `call`: that by which it came, `None`: it is the door itself. `peer`: the client, as a broker in this
    process sees it, `None` until it asks something.
    """

    def __init__(self, client_id: str, call: GrpcCall | None, clients: DoorClients) -> None:
        metadata: Mapping[str, str] = {} if call is None else call.metadata
        language = metadata.get("x-mq-language", "")
        language = _LANGUAGES.get(language, language)
        self.client_id = client_id
        self.address = "127.0.0.1:0" if call is None else call.address
        self.certificate = "" if call is None else call.certificate
        self.language = language if language in LANGUAGE_NUMBERS else "OTHER"
        self.version_text = metadata.get("x-mq-client-version", "")[:40]
        self.settings: m.Settings | None = None
        self.stream: GrpcCall | None = None
        self.peer: Any = None
        self._clients = clients
        self._numbers = itertools.count(1)
        self._asked: dict[str, asyncio.Future[m.TelemetryCommand]] = {}

    def __repr__(self) -> str:
        return f"<DoorClient {self.client_id}>"

    @property
    def unused(self) -> bool:
        """Whether nothing has to be kept of it."""
        return self.peer is None and self.stream is None

    def command(self, command: m.TelemetryCommand) -> None:
        """Send `command`. Raises `ConnectionLost` while the client has no stream, or does not read it."""
        stream = self.stream
        if stream is None or stream.ended:
            raise ConnectionLost(f"client {self.client_id} has no telemetry stream")
        if stream.is_full:
            raise TooMuchInFlight(f"client {self.client_id} does not read its commands")
        stream.send_now(command)

    async def ask(self, make: Callable[[str], m.TelemetryCommand]) -> m.TelemetryCommand:
        """What the client answers to the command that `make` makes with a nonce.

        Raises `ConnectionLost` and `TooMuchInFlight`; waits for as long as it is let.
        """
        if len(self._asked) >= _ASKED_MAX:
            raise TooMuchInFlight(f"client {self.client_id} is asked {_ASKED_MAX} things already")
        nonce = f"{next(self._numbers)}"
        future: asyncio.Future[m.TelemetryCommand] = asyncio.get_running_loop().create_future()
        self._asked[nonce] = future
        try:
            self.command(make(nonce))
            return await future
        finally:
            del self._asked[nonce]

    def answered(self, nonce: str, command: m.TelemetryCommand) -> None:
        """The client answers what it was asked under `nonce`."""
        future = self._asked.get(nonce)
        if future is not None and not future.done():
            future.set_result(command)

    def notified(self, request: Request, body: Body) -> None:
        """Pass it on (ProxiedClient)."""
        self._clients.handed.notified(self, request, body)

    async def asked(self, request: Request, body: Body) -> Reply:
        """Ask the client (ProxiedClient)."""
        return await self._clients.handed.asked(self, request, body)

    def closed(self, reason: str) -> None:
        """To the broker the client has left (ProxiedClient)."""
        self.peer = None
        self._clients.closed(self)


class Handed:
    """What is done with what brokers have for a client."""

    def notified(self, client: DoorClient, request: Request, body: Body) -> None:
        """Something that wants no answer (`ProxiedClient.notified`)."""

    async def asked(self, client: DoorClient, request: Request, body: Body) -> Reply:
        """Something to be answered (`ProxiedClient.asked`)."""
        raise NotImplementedError


class DoorClients:
    """All clients, by id.

    `handed`: what is done with what brokers have for them; `left`: is told of each that is a member of
    nothing any more.
    """

    def __init__(self) -> None:
        self.handed = Handed()
        self.left: Callable[[DoorClient], None] = lambda client: None
        self._clients: dict[str, DoorClient] = {}

    def __len__(self) -> int:
        return len(self._clients)

    def of(self, call: GrpcCall) -> DoorClient:
        """Who calls. Raises `Rejected` CLIENT_ID_REQUIRED."""
        name = call.metadata.get(CLIENT_ID, "")
        client = self._clients.get(name)
        if client is None:
            client = self._clients[_checked(name)] = DoorClient(name, call, self)
        return client

    def known(self, metadata: Mapping[str, str]) -> DoorClient | None:
        """Who calls, if something is kept of it."""
        return self._clients.get(metadata.get(CLIENT_ID, ""))

    def forget(self, client: DoorClient) -> None:
        """The client has ended."""
        client.settings = None
        if client.peer is not None:
            client.peer.close("the client has ended")
        self.release(client)

    def release(self, client: DoorClient) -> None:
        """Keep nothing of a client that has no stream, and is no member of anything."""
        if client.unused and self._clients.get(client.client_id) is client:
            del self._clients[client.client_id]

    def closed(self, client: DoorClient) -> None:
        """To the broker it has left."""
        self.left(client)
        self.release(client)

    def own(self) -> DoorClient:
        """The door itself, which asks what nobody asks for any more."""
        return DoorClient(OWN_ID, None, self)


def _checked(name: str) -> str:
    if not name.strip():
        raise Rejected(m.Code.CLIENT_ID_REQUIRED, f"the header field {CLIENT_ID} is missing: who calls?")
    if len(name) > CLIENT_ID_CHARS_MAX or not name.isprintable():
        raise Rejected(
            m.Code.CLIENT_ID_REQUIRED,
            f"{CLIENT_ID} has {len(name)} characters; up to {CLIENT_ID_CHARS_MAX} printable ones are taken",
        )
    return name
