"""What a broker service asks of its broker as clients do: the port for other protocols than remoting.

A service that speaks another protocol opens a peer for each of its clients. What such a peer asks is served
as if it had come over a connection, by the same access control, RPC hooks, limits, audit and counters, and
the answer is given when what it says is saved. How long its clients wait, the service measures itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from mqframe.core.codes import VERSION, ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.requests.fields import Request
from mqframe.core.requests.needs import Need
from mqframe.core.requests.serving import Reply
from mqframe.core.wire.frame import Body
from mqframe.hooks.interfaces.access import Caller, Signed


class ProxiedClient:
    """A client that a service speaks for. Implement what is needed; all is called in the broker's loop.

    `address`: its "ip:port", kept with its messages as the host where they were born. `language` (a name of
    RocketMQ's, such as "JAVA"), `version` (a number of RocketMQ's), `protocol`: as operators are shown them.
    `certificate`: the common name in the trusted certificate that it showed, "" without one. `user`: who it
    is, for a service that has made sure of that itself: the broker's authentication is not asked then, its
    authorization is; "" where requests bring their signatures in their fields, or nobody asks. `inner`: the
    service itself, which asks for nobody else: access control does not count for it.
    """

    address: str = ""
    language: str = "OTHER"
    version: int = VERSION
    protocol: str = "other"
    certificate: str = ""
    user: str = ""
    inner: bool = False

    def notified(self, request: Request, body: Body) -> None:
        """The broker has something for it, and wants no answer: members of a group changed, a transaction is
        open …

        Raises `ConnectionLost` or `TooMuchInFlight` when it cannot be passed on now: another client may be
        asked then.
        """

    async def asked(self, request: Request, body: Body) -> Reply:
        """The broker wants something of it: running info, a message to be consumed now, a reply taken.

        Cancelled when the broker waits no longer. What it raises becomes the answer, as of a handler.
        """
        raise Refusal(
            ResponseCode.REQUEST_CODE_NOT_SUPPORTED,
            f"{type(request).__name__} is not passed on to {self.address}",
        )

    def closed(self, reason: str) -> None:
        """Its peer is closed, whoever closed it; nothing is asked or notified any more."""


def answered_meanwhile(given_up: asyncio.CancelledError) -> Reply | None:
    """The answer that was there, on its way still, when `ProxiedPeer.ask` was cancelled with `given_up`.

    `None`: there was none. Who asks for what others do not get meanwhile, as a pop, can give it back.
    """
    return getattr(given_up, "reply", None)


class ProxiedPeer(Protocol):
    """A client as the broker sees it, until it is closed: a member of groups that asks and waits."""

    @property
    def closed(self) -> bool:
        """Whether nothing is served any more."""

    async def ask(
        self,
        request: Request,
        body: Body = b"",
        *,
        user: str | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> Reply:
        """The answer to `request`, whatever its code: a refusal is an answer, too.

        An answer that is there at once is returned without a turn of the loop, so whoever asks a lot in a row
        lets others have theirs in between (`asyncio.sleep(0)`). Others come when there is something: a pull
        or a pop waits as long as it says. Many may be asked at a time.

        `body` may not change before the answer. Parts of the answer's body may be views of files: they are
        good until the caller awaits something the next time, and have to be copied or decoded by then.

        `user`: who asks, where that is not the client's `user`. `fields`: header fields besides those of
        `request`, such as a signature.

        Cancelled, it lets go of what waits: a pull or a pop that is held takes no messages then, unless it
        is answered already, which `answered_meanwhile` tells. What is being stored goes on. Raises
        `ConnectionLost` when the peer is closed or the broker stops before the answer came; the request may
        have been served then, unless `maybe_stored` of the error is false.
        """
        raise NotImplementedError

    def close(self, reason: str) -> None:
        """The client has gone: it leaves its groups, and what waits fails with `ConnectionLost`."""


class BrokerRequests(Protocol):
    """Opens peers, while the broker serves requests."""

    def connect(self, client: ProxiedClient) -> ProxiedPeer:
        """A peer for `client`; it counts as a connection. To be closed by the service.

        The broker closes it as it does connections: when it stops, when a client's heartbeats stop
        (`broker.client_silent_ms`), when nothing passed for `net.idle_seconds`.

        Raises `ConnectionLost` before the broker serves and when it stops, `Refusal` SYSTEM_BUSY where there
        are as many connections as may be (`net.connections_max`), `ValueError` for an address that is none.
        """

    def judge(self, peer: Caller, needs: Sequence[Need], user: str = "", signed: Signed | None = None) -> str:
        """The name of the user that `peer` is, who is granted all of `needs`; "" where nobody is asked.

        For calls that a service answers itself, and for the `user` of what it asks. `signed`: who says to be
        there; `None`: the connection says it, by its certificate or address. `user`: who it is, found before.

        Raises `ConnectionLost` as `connect`, and `Refusal`, which is counted and told as that of a request.
        """
