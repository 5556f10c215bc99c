"""The clients of the door: what is kept of each, by the id that it gives itself.

A client may have several connections; to the brokers it is one, as to Apache's proxy. Anybody can give
itself the id of another, so where users are known that is one client for each user and place it calls from:
none acts as another, takes what was told to it, or ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from weakref import WeakValueDictionary

from mqframe.core.codes import LANGUAGE_NUMBERS, VERSION
from mqframe.core.errors import ConnectionLost, TooMuchInFlight
from mqframe.core.requests.fields import Request
from mqframe.core.requests.serving import Reply
from mqframe.core.versions import version_number
from mqframe.core.wire.frame import Body
from mqframe.hooks.interfaces import Caller, ProxiedClient
from mqframe_grpc.access import Gate, ask_nobody
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected, status
from mqframe_grpc.transport.call import GrpcCall

CLIENT_ID: Final = "x-mq-client-id"
CLIENT_ID_CHARS_MAX: Final = 255
OWN_ID: Final = "mqframe-grpc"
_LANGUAGES: Final = {"GOLANG": "GO", "DOT_NET": "DOTNET"}
_RECONNECTING: Final = re.compile(r"5\.[1-9]|[6-9]|[1-9]\d").match
"""Versions of clients that know the command: from 5.1 on."""
_RELEASE: Final = re.compile(r"[vV]?([4-9])\.(\d+)\.(\d+)").match
_ASKED_MAX: Final = 64
"""So much may be asked of a client at a time."""


Places = WeakValueDictionary[tuple[str, str], "DoorClient"]
"""Clients of one name, by their hosts and certificates; all the same where no user is asked for."""


class DoorClient(ProxiedClient):
    """One client. `settings`: what it has told, as they were answered; `since_ms`: when it told any first,
    wall clock, 0: not yet; `streams`: where commands may go to it, the newest last.

    `call`: that by which it came, `None`: it is the door itself, which asks for nobody else. `user`: whom it
    asks for, "" where nobody is asked who it is. `peer`: the client, as a broker in this process sees it,
    `None` until it asks something. `namesakes`: clients of the same name by their places, it among them.
    """

    protocol = "grpc"

    def __init__(self, client_id: str, call: GrpcCall | None, clients: DoorClients, user: str = "") -> None:
        metadata: Mapping[str, str] = {} if call is None else call.metadata
        language = metadata.get("x-mq-language", "")
        language = _LANGUAGES.get(language, language)
        self.client_id = client_id
        self.user = user
        self.inner = call is None
        self.address = "127.0.0.1:0" if call is None else call.address
        self.certificate = "" if call is None else call.certificate
        self.language = language if language in LANGUAGE_NUMBERS else "OTHER"
        self.version_text = metadata.get("x-mq-client-version", "")[:40]
        self.version = _version(self.version_text)
        self.settings: m.Settings | None = None
        self.since_ms = 0
        self.streams: list[GrpcCall] = []
        self.peer: Any = None
        self.namesakes: Places = WeakValueDictionary()
        self._clients = clients
        self._numbers = itertools.count(1)
        self._asked: dict[str, asyncio.Future[m.TelemetryCommand]] = {}

    def __repr__(self) -> str:
        return f"<DoorClient {self.client_id}>"

    @property
    def name(self) -> str:
        """Its id and its user: the same wherever it calls from."""
        return _name(self.client_id, self.user)

    @property
    def stream(self) -> GrpcCall | None:
        """Where commands go: the newest stream that is open. Rust's client may open another, and drop it."""
        return next((each for each in reversed(self.streams) if not each.ended), None)

    def command(self, command: m.TelemetryCommand) -> None:
        """Send `command`. Raises `ConnectionLost` while the client has no stream, or does not read it."""
        stream = self.stream
        if stream is None:
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
    """All clients, by id, for as long as there is something of them: a call, a stream, a peer.

    `gate`: says for whom they call; `handed`: what is done with what brokers have for them; `left`: is told
    of each that is a member of nothing any more, wherever it calls from.
    """

    def __init__(self, gate: Gate | None = None) -> None:
        self.gate = gate or Gate(ask_nobody)
        self.handed = Handed()
        self.left: Callable[[DoorClient], None] = lambda client: None
        self._names: WeakValueDictionary[str, Places] = WeakValueDictionary()
        self._own = DoorClient(OWN_ID, None, self)

    def __len__(self) -> int:
        return sum(map(len, self._names.values()))

    def of(self, call: GrpcCall) -> DoorClient:
        """Who calls. Raises `Rejected`: CLIENT_ID_REQUIRED, UNAUTHORIZED."""
        client_id = _checked(call.metadata.get(CLIENT_ID, ""))
        user = self.gate.user_of(call)
        name, place = _name(client_id, user), _place(call, user)
        places = self._names.get(name)
        if places is None:
            places = self._names[name] = WeakValueDictionary()
        client = places.get(place)
        if client is None:
            client = places[place] = DoorClient(client_id, call, self, user)
            client.namesakes = places
        return client

    def known(self, metadata: Mapping[str, str], user: str = "") -> DoorClient | None:
        """A client of `user`, if there is something of it."""
        places = self._names.get(_name(metadata.get(CLIENT_ID, ""), user))
        return None if places is None else next(iter(places.values()), None)

    def forget(self, client: DoorClient) -> None:
        """The client has ended."""
        client.settings = None
        if client.peer is not None:
            client.peer.close("the client has ended")

    def closed(self, client: DoorClient) -> None:
        """To the broker it has left."""
        if all(each is client or each.peer is None for each in client.namesakes.values()):
            self.left(client)

    def send_away(self) -> None:
        """Have those that can open their connections anew, for this door stops. Others do when it has."""
        for client in [each for places in self._names.values() for each in places.values()]:
            if client.stream is not None and _RECONNECTING(client.version_text):
                with contextlib.suppress(ConnectionLost, TooMuchInFlight):
                    client.command(
                        m.TelemetryCommand(
                            status=status(m.Code.OK),
                            reconnect_endpoints_command=m.ReconnectEndpointsCommand(nonce=OWN_ID),
                        )
                    )

    def own(self) -> DoorClient:
        """The door itself, which asks what nobody asks for any more."""
        return self._own


def _name(client_id: str, user: str) -> str:
    # No line end is in an id, so no other pair has this name.
    return f"{user}\n{client_id}" if user else client_id


def _place(caller: Caller, user: str) -> tuple[str, str]:
    """From where it calls, and the certificate that it shows: by these its user may be judged."""
    return (caller.address.rpartition(":")[0], caller.certificate) if user else ("", "")


def _version(text: str) -> int:
    """The number that operators know a release by: 419 for "5.0.3"; one that has none is as new as ours."""
    found = _RELEASE(text)
    if found is None:
        return VERSION
    # There are numbers for one digit each.
    return version_number(".".join(f"{min(int(part), 9)}" for part in found.groups()))


def _checked(name: str) -> str:
    if not name.strip():
        raise Rejected(m.Code.CLIENT_ID_REQUIRED, f"the header field {CLIENT_ID} is missing: who calls?")
    if len(name) > CLIENT_ID_CHARS_MAX or not name.isprintable():
        raise Rejected(
            m.Code.CLIENT_ID_REQUIRED,
            f"{CLIENT_ID} has {len(name)} characters; up to {CLIENT_ID_CHARS_MAX} printable ones are taken",
        )
    return name
