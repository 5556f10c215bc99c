"""Access control of a door in a process of its own: who its clients are, and as whom it asks brokers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Final, cast

from mqframe.core.errors import MqframeError, SettingError
from mqframe.core.requests.needs import Need, Needs
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import Caller, KeptFile, RpcHook, Signed
from mqframe.hooks.manager import PluginManager
from mqframe.log import get_logger
from mqframe.net.access.access import Access
from mqframe.net.access.guard import AccessRefusals, Guard
from mqframe.net.access.settings import AccessSettings
from mqframe.net.clock import Every, LoopClock
from mqframe.trouble import Trouble
from mqframe_grpc.outside.users import FILE, BrokersFile, BrokerUsers
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected

log = get_logger("access")

USERS_SECONDS: Final = 10.0
"""So often brokers are asked for their users: a change counts after that."""
SMALL_BYTES: Final = 32 * 1024
"""What they say of users is read at once when it is no longer than this, in ms; else in a thread."""
_TRY_SECONDS: Final = 1.0
_UNKNOWN: Final = "no broker has told yet who its users are"


class ProxyAccess:
    """The `Judge` of a proxy: as strict as a broker with these settings, about users of the brokers.

    A plugin that would keep users in a file is handed those of the brokers, which are asked for them again
    and again; what they said last counts while none can be asked. One that keeps them elsewhere is asked as
    it is. `rpc_hooks`: sign what the proxy asks of brokers; without them the inner credentials do. Raises
    `PluginError` and `SettingError`.
    """

    def __init__(
        self,
        settings: AccessSettings,
        plugins: PluginManager,
        clock: LoopClock,
        rpc_hooks: tuple[RpcHook, ...] = (),
    ) -> None:
        self._settings = settings
        self._plugins = plugins
        self._clock = clock
        self._content: bytes | None = None
        self._users: BrokerUsers | None = None
        self._asks_brokers = False
        self._refusals = AccessRefusals(clock)
        self._untold = Trouble(log, clock.monotonic, level=logging.ERROR)
        self._next = float("-inf")
        self._every: Every | None = None
        access = self._access(None)
        self._guard = _guard(access, self._refusals)
        signer = access.signer()
        self.rpc_hooks = rpc_hooks or (() if signer is None else (signer,))
        """What signs requests to brokers."""

    @property
    def asks_nobody(self) -> bool:
        """Whether everybody is served."""
        return not self._settings.authentication_plugin

    def _access(self, content: bytes | None) -> Access:
        def file(name: str) -> KeptFile:
            if name != FILE:
                raise SettingError(
                    f"access.authentication = {self._settings.authentication!r} keeps {name}, but a proxy "
                    "keeps nothing: take a plugin that finds its users elsewhere"
                )
            self._asks_brokers = True
            return BrokersFile(content)

        return Access(self._settings, self._clock, self._plugins, keep=file)

    def __call__(
        self, peer: Caller, needs: Sequence[Need], user: str = "", signed: Signed | None = None
    ) -> str:
        """Who `peer` is, that may do what `needs` say (`Judge`). Raises `Rejected` while none are known."""
        if self._asks_brokers and self._content is None:
            raise Rejected(m.Code.INTERNAL_SERVER_ERROR, _UNKNOWN)
        call = Call(Frame(0), cast("Peer", peer), 0.0)
        call.user = user
        self._guard.admit(call, Needs(lambda _: list(needs)), signed)
        return call.user

    @property
    def refusal(self) -> str:
        """Why nobody is served; empty when somebody is. May be asked in any thread."""
        return _UNKNOWN if self._asks_brokers and self._content is None else ""

    def counters(self) -> Mapping[str, str]:
        """How many calls were refused, where they may be."""
        return {} if self.asks_nobody else self._refusals.counters()

    async def start(self, users: BrokerUsers) -> None:
        """Learn who the users are, where brokers have to say so, and go on learning it."""
        if self._asks_brokers:
            self._users = users
            await self._look()
            self._every = Every(self._clock, _TRY_SECONDS, self._look, name="users of brokers")

    def stop(self) -> None:
        """Learn no more."""
        if self._every is not None:
            self._every.stop()

    async def _look(self) -> None:
        now = self._clock.monotonic()
        if self._users is None or (self._content is not None and now < self._next):
            return
        self._next = now + USERS_SECONDS
        try:
            content = await self._users.content()
            if content != self._content:
                await self._take(content)
        except (MqframeError, ValueError) as problem:
            event = "users of brokers cannot be read; nobody is let in until they are"
            if self._content is not None:
                event = "users of brokers cannot be read; those from before stay in force"
            self._untold.note(event, kind=str(problem), problem=str(problem))
        else:
            self._untold.over("users of brokers are read again")

    async def _take(self, content: bytes) -> None:
        if len(content) > SMALL_BYTES:
            access = await asyncio.to_thread(self._access, content)
        else:
            access = self._access(content)
        self._guard = _guard(access, self._refusals)
        self._content = content


def _guard(access: Access, refusals: AccessRefusals) -> Guard:
    # Of calls no body is read.
    return Guard(access, refusals, body_bytes_max=0)
