"""ACL 2.0 of Apache RocketMQ 5.3: who signed a request, and what the policies of that user say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mqframe.core.config.settings import setting, settings
from mqframe.core.requests.needs import Need, Resource
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import (
    AccessPort,
    Authentication,
    Authorization,
    Caller,
    Credentials,
    Refused,
    RpcHook,
)
from mqframe_acl.administration import Administration
from mqframe_acl.networks import caller_address
from mqframe_acl.signature import ACCESS_KEY, Signer
from mqframe_acl.signing import AclHook, AclOptions
from mqframe_acl.table import NAME_CHARS_MAX, User, UserTable

UNKNOWN: Final = "Authentication failed. Please verify the credentials and try again."
"""All that is told whoever is not known: not which part of it was wrong."""
DECISIONS_MAX: Final = 10_000
"""Decisions that are remembered; then all are forgotten."""


@settings("plugins.acl2")
class Acl2Options:
    """How users are known besides by their signatures."""

    certificate_users: Mapping[str, str] = setting(
        factory=dict,
        doc="users by the common name of the client certificate that their connection showed; requests over "
        "it need no signature. The server has to ask for certificates (net.tls_server_client_auth)",
    )


class State:
    """What both kinds share: users, policies, and the requests that change them."""

    def __init__(self, port: AccessPort) -> None:
        self.table = UserTable(port)
        self.administration = Administration(self.table)


def shared(port: AccessPort) -> State:
    """The one state of a server."""
    return port.shared(State, port)


class Acl2Authentication(Authentication):
    """Requests are signed with the secret of a user who is enabled, or come over that user's connection."""

    name = "acl2"
    Options = Acl2Options

    def __init__(self, port: AccessPort, options: Acl2Options) -> None:
        self._state = shared(port)
        self._table = self._state.table
        self._inner = port.inner
        self._by_certificate = dict(options.certificate_users)
        self._nobody = User("", "nobody has this secret")

    def authenticate(self, caller: Caller, request: Frame) -> str:
        """The user who signed `request`."""
        name = (request.ext or {}).get(ACCESS_KEY)
        if name is None:
            return self._certified(caller)
        return self._signed(name, lambda signer: signer.fits(request))

    def authenticate_text(self, caller: Caller, user: str, text: bytes, signature: bytes) -> str:
        """`user`, whose signature of `text` that is."""
        return self._signed(user, lambda signer: signer.fits_text(text, signature))

    @property
    def verdict_version(self) -> object:
        """Changes with the table."""
        return self._table.changes

    def signing_key(self, caller: Caller, user: str) -> bytes | None:
        """The secret of a user who is enabled."""
        known = self._table.users.get(user)
        return known.signer.key if known is not None and known.enabled else None

    def signer(self) -> RpcHook | None:
        """Signs with the inner credentials."""
        return signer_of(self._inner)

    def serving(self) -> Sequence[object]:
        """The requests for users and policies."""
        return (self._state.administration,)

    def _signed(self, name: str, fits: Callable[[Signer], bool]) -> str:
        user = self._table.users.get(name)
        # An unknown name takes as long as a wrong signature.
        if not fits((user or self._nobody).signer) or user is None:
            raise Refused(UNKNOWN, f"the signature for {name!r} is wrong" if user else f"no user {name!r}")
        if not user.enabled:
            raise Refused(UNKNOWN, f"user {name!r} is disabled")
        return name

    def _certified(self, caller: Caller) -> str:
        name = self._by_certificate.get(caller.certificate) if self._by_certificate else None
        if name is None:
            raise Refused(UNKNOWN, "the request is not signed")
        user = self._table.users.get(name)
        if user is None or not user.enabled:
            raise Refused(UNKNOWN, f"user {name!r} of the certificate is not there, or disabled")
        return name


class Acl2Authorization(Authorization):
    """Users of type Super may do everything, others what their policies allow."""

    name = "acl2"
    Options = Acl2Options

    def __init__(self, port: AccessPort, options: Acl2Options) -> None:
        self._state = shared(port)
        self._table = self._state.table
        self._cluster = port.cluster
        self._granted: set[tuple[str, Need]] = set()
        self._changes = -1

    def authorize(self, user: str, caller: Caller, needs: Sequence[Need]) -> None:
        """Whether every one of `needs` is granted."""
        if self._changes != self._table.changes or len(self._granted) > DECISIONS_MAX:
            self._granted.clear()
            self._changes = self._table.changes
        for need in needs:
            if (user, need) not in self._granted:
                self._decide(user, caller, need)

    @property
    def verdict_version(self) -> object:
        """Changes with the table."""
        return self._table.changes

    def serving(self) -> Sequence[object]:
        """The requests for users and policies."""
        return (self._state.administration,)

    def _decide(self, user: str, caller: Caller, need: Need) -> None:
        known = self._table.users.get(user)
        policies = self._table.policies.get(user)
        asked = need
        if need.resource is Resource.CLUSTER and not need.name:
            asked = need._replace(name=self._cluster)
        if known is None or not known.everything:
            if policies is None or not policies.allow(asked, caller_address(caller.address)):
                raise forbidden(user, caller, asked)
            if policies.by_place:
                return
        if len(need.name) <= NAME_CHARS_MAX:
            self._granted.add((user, need))


def forbidden(user: str, caller: Caller, need: Need) -> Refused:
    """What is answered, and logged, when `user` is not granted `need`."""
    host = caller.address.rpartition(":")[0]
    said = f"User:{user} has no permission to access {need.resource}:{need.name or '*'} from {host}"
    return Refused(said, f"{said} ({' or '.join(need.actions)})")


def signer_of(inner: Credentials | None) -> RpcHook | None:
    """What signs with `inner`."""
    return None if inner is None else AclHook(AclOptions(access_key=inner.user, secret_key=inner.secret))
