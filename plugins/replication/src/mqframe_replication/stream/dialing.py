"""How a slave connects to the replication port of its master: by TLS and with a hello where that is asked."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Final, cast

import msgspec

from mqframe.core.errors import CallTimeout, ConnectError, FrameError, MqframeError
from mqframe.core.printable import printable
from mqframe.hooks.interfaces.rpc_hook import RpcHook
from mqframe.net.addresses import CLOSED
from mqframe.net.clock import LoopClock, within
from mqframe.net.tls.following import FollowingContext
from mqframe.net.tls.opening import open_secured
from mqframe_replication.rules.hello import (
    REFUSAL_CHARS_MAX,
    Hello,
    Welcome,
    WelcomeReader,
    encode_hello,
    signed_frame,
)
from mqframe_replication.rules.in_words import in_words

CONNECT_SECONDS: Final = 5.0


class Dialer:
    """Opens connections to replication ports.

    `contexts`: how they are secured; `None`: not at all. `introduce`: makes the hello; `None`: there is none.
    `signer`: what signs it when the master asks for that.
    """

    def __init__(
        self,
        clock: LoopClock,
        contexts: FollowingContext | None = None,
        introduce: Callable[[], Hello] | None = None,
    ) -> None:
        self._clock = clock
        self._contexts = contexts
        self.introduce = introduce
        self.signer: RpcHook | None = None

    async def open(
        self, made: asyncio.BaseProtocol, address: str, *, fetches: bool = False
    ) -> Welcome | None:
        """Connect `made` to the replication port at `address`, "host:port"; what the master said to a hello.

        `fetches`: as of `Hello`. Raises `ConnectError`, `TlsError` and `FrameError`; `made` has heard of
        nothing then.
        """
        host, _, port = address.rpartition(":")
        if not (host and port.isdecimal()):
            raise ConnectError(f"replication port {address!r} of the master: must be host:port")
        hello = None if self.introduce is None else self.introduce()
        if hello is None:
            await self._connect(made, address, (host.strip("[]"), int(port)))
            return None
        hello = msgspec.structs.replace(hello, fetches=fetches)
        greeting = _Introduction(hello, self.signer, made, address)
        try:
            await self._connect(greeting, address, (host.strip("[]"), int(port)))
            return await within(self._clock, CONNECT_SECONDS, greeting.welcomed)
        except CallTimeout:
            raise ConnectError(
                f"{_named(address)}: it does not answer the hello within {CONNECT_SECONDS:g} s; {_WHERE}"
            ) from None
        finally:
            greeting.close()

    async def _connect(self, protocol: asyncio.BaseProtocol, address: str, place: tuple[str, int]) -> None:
        context = None if self._contexts is None else self._contexts.current
        try:
            await within(self._clock, CONNECT_SECONDS, _connected(context, address, place, protocol))
        except (OSError, CallTimeout) as problem:
            raise ConnectError(f"{_named(address)}: {in_words(problem)}") from None


def _named(address: str) -> str:
    return f"replication port {address} of the master"


_WHERE: Final = "it has to be the replication port of a master of mqframe (replication.master)"


async def _connected(
    context: ssl.SSLContext | None, address: str, place: tuple[str, int], protocol: asyncio.BaseProtocol
) -> None:
    if context is None:
        await asyncio.get_running_loop().create_connection(lambda: protocol, *place)
    else:
        # A follower reads into a buffer of its own where it can, and else is handed what came.
        await open_secured(context, address, place, cast("asyncio.Protocol", protocol))


class _Introduction(asyncio.Protocol):
    """Says `hello`, and hands the connection on to `after` when the master said welcome.

    `welcomed`: what it said, or why there will be no welcome.
    """

    def __init__(
        self, hello: Hello, signer: RpcHook | None, after: asyncio.BaseProtocol, address: str
    ) -> None:
        self._hello = hello
        self._signer = signer
        self._after = after
        self._address = address
        self._named = _named(address)
        self._reader = WelcomeReader()
        self._transport: asyncio.Transport | None = None
        self._challenged = False
        self.welcomed: asyncio.Future[Welcome] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say hello (asyncio.Protocol)."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(encode_hello(self._hello))

    def data_received(self, data: bytes) -> None:
        """Take the answer in (asyncio.Protocol)."""
        if self._transport is None:
            return
        if self.welcomed.done():  # whoever waited has gone, and closes this in its next turn
            self.close()
            return
        try:
            welcome = self._reader.read(data)
            if welcome is not None:
                self._take(welcome)
        except (ConnectError, FrameError) as problem:
            self._fail(type(problem)(f"{self._named}: {problem}"))

    def _take(self, welcome: Welcome) -> None:
        assert self._transport is not None
        if welcome.refusal:
            refusal = printable(welcome.refusal)[:REFUSAL_CHARS_MAX]
            raise ConnectError(f"this slave is refused: {refusal}")
        if self._reader.rest:
            raise FrameError("it says more before it was told where this log ends")
        if welcome.challenge:
            self._sign(welcome.challenge)
            return
        transport, self._transport = self._transport, None
        transport.set_protocol(self._after)
        self._after.connection_made(transport)
        self.welcomed.set_result(welcome)

    def _sign(self, challenge: str) -> None:
        assert self._transport is not None
        if self._challenged:
            raise FrameError("it asks for a signature again and again")
        self._challenged = True
        self._reader = WelcomeReader()
        signed = signed_frame(self._hello, challenge)
        if self._signer is not None:
            self._signer.before(self._address, signed)
        self._transport.write(encode_hello(msgspec.structs.replace(self._hello, access=signed.ext or {})))

    def connection_lost(self, problem: Exception | None) -> None:
        """There will be no welcome (asyncio.Protocol)."""
        why = f"it ended the connection upon the hello: {problem or CLOSED}; {_WHERE}"
        self._fail(ConnectError(f"{self._named}: {why}"))

    def _fail(self, problem: MqframeError) -> None:
        if not self.welcomed.done():
            self.welcomed.set_exception(problem)
        self.close()

    def close(self) -> None:
        """Close the connection, if it was not handed on."""
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        if not self.welcomed.done():
            self.welcomed.cancel()
        elif not self.welcomed.cancelled():
            self.welcomed.exception()  # nobody may be left to look
