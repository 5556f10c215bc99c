"""Access control of servers: who asks, whether that may be, and what a server gives to both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from mqframe.core.clock import Clock
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.requests.needs import Need
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces.rpc_hook import RpcHook

T = TypeVar("T")
Signed = tuple[str, bytes, bytes]
"""What calls of another protocol bring: a user, a text, its HMAC-SHA1 under the secret of that user."""


class Credentials(NamedTuple):
    """A user and the secret that its requests are signed with."""

    user: str
    secret: str

    def __repr__(self) -> str:
        """Without the secret."""
        return f"<Credentials of {self.user}>"


class BrokerPlace(NamedTuple):
    """A broker: its name, and the "host:port" that clients know; empty texts where there is none."""

    name: str
    address: str


class Caller(Protocol):
    """The other side of a connection.

    `address`: its "ip:port". `certificate`: the common name in the trusted certificate that it showed; empty
    where it showed none.
    """

    @property
    def address(self) -> str:
        """Its "ip:port"."""

    @property
    def certificate(self) -> str:
        """The common name of its certificate, "" without one."""


class KeptFile(Protocol):
    """A small file in the server's folder, replaced whole."""

    def load(self, decode: Callable[[bytes], T]) -> T | None:
        """What `decode` makes of it; `None` when there is none yet. Raises `StoreError` for a broken one."""

    def save(self, content: bytes) -> None:
        """Replace it, durably and at once. Raises `OSError`; the former one is in place then."""


class AccessPort(Protocol):
    """Handed to the factories of `Authentication` and `Authorization`.

    `cluster`: name of the cluster. `broker`: the one that asks. `initial`: users that there are to be from
    the start, who may do everything. `inner`: with what this server signs its own requests to other servers.
    """

    @property
    def clock(self) -> Clock:
        """The server's time."""

    @property
    def cluster(self) -> str:
        """Name of the cluster; "" of a name server, which belongs to none."""

    @property
    def broker(self) -> BrokerPlace:
        """The broker, of several in one process the first; its address is known once it runs."""

    @property
    def initial(self) -> Sequence[Credentials]:
        """Users that there are to be from the start, who may do everything; `inner` among them."""

    @property
    def inner(self) -> Credentials | None:
        """With what this server signs its own requests to other servers."""

    def file(self, name: str) -> KeptFile | None:
        """The file `name` in the folder of the server's configuration; `None` when it keeps nothing."""

    def shared(self, make: Callable[[Any], T], options: object) -> T:
        """What `make(options)` gave the first time that it was asked for: one object for both kinds."""


class Authentication:
    """Says who sends a request. Implement `authenticate`; it is called for every request and may not block.

    Made as `factory(port[, options])`, with an `AccessPort`.
    """

    name: str = ""

    def authenticate(self, caller: Caller, request: Frame) -> str:
        """The name of the user who sent `request`.

        Raises `Refused` for anybody who is not known. Any other error refuses the request, too, and is
        logged.
        """
        raise NotImplementedError

    def authenticate_text(self, caller: Caller, user: str, text: bytes, signature: bytes) -> str:
        """The name of the user who sent what is signed so (`Signed`) in another protocol.

        Raises as `authenticate`; everybody is refused where it is not implemented.
        """
        raise Refused("Such signatures are not taken here.", f"{self.name} takes those of requests only")

    def signer(self) -> RpcHook | None:
        """What signs requests of this server itself to others; `None`: they are not signed."""
        return None

    def serving(self) -> Sequence[object]:
        """Objects whose methods, marked by `serves`, answer requests of operators."""
        return ()


class Authorization:
    """Says what a user may do. Implement `authorize`; it is called for every request and may not block.

    Made as `factory(port[, options])`, with an `AccessPort`.
    """

    name: str = ""

    def authorize(self, user: str, caller: Caller, needs: Sequence[Need]) -> None:
        """Return when `user` is granted all of `needs`; there may be none. Raises `Refused` otherwise."""
        raise NotImplementedError

    def serving(self) -> Sequence[object]:
        """Objects whose methods, marked by `serves`, answer requests of operators."""
        return ()


@runtime_checkable
class RemembersVerdicts(Protocol):
    """An `Authentication` or `Authorization` that says how long its verdicts hold; others are asked anew."""

    @property
    def verdict_version(self) -> object:
        """As long as this is the very same object, a caller, user and needs get the same answer again."""


@runtime_checkable
class SignsByFields(RemembersVerdicts, Protocol):
    """An `Authentication` of users who sign as RocketMQ's clients do.

    The header field AccessKey is the user; Signature is the HMAC-SHA1, in base64, of the values of all other
    fields, in the order of their names, with the body behind them.
    """

    def signing_key(self, caller: Caller, user: str) -> bytes | None:
        """Under which key requests of `caller` that are signed so are `user`'s.

        `None`: under none, or that does not follow from a signature alone. `authenticate` is asked then.
        """


class Refused(Refusal):
    """Somebody may not do this (NO_PERMISSION). `cause` is for this server's log, and never leaves it.

    Clients raise `AccessError` for a remark with "User:", "credentials" or "signature" in it.
    """

    def __init__(self, remark: str, cause: str) -> None:
        """`remark`: what the caller is told."""
        super().__init__(ResponseCode.NO_PERMISSION, remark)
        self.cause = cause
