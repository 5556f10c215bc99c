"""Access control as RocketMQ 4.9 has it: accounts in files that are read again when they change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from mqframe.core.config.settings import at_least, setting, settings
from mqframe.core.requests.needs import CHANGING, Action, Need, Resource
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import AccessPort, Authentication, Authorization, Caller, Refused, RpcHook
from mqframe_acl.acl2 import UNKNOWN, forbidden, signer_of
from mqframe_acl.networks import caller_address
from mqframe_acl.plain_administration import PlainAdministration
from mqframe_acl.plain_file import Account
from mqframe_acl.plain_files import PlainFiles
from mqframe_acl.signature import ACCESS_KEY, Signer

BY_ADDRESS: Final = "(white address)"
"""The user of requests from where nobody is asked; no access key has such a name and no need of one."""
_EITHER: Final = frozenset({Action.PUB, Action.SUB})


@settings("plugins.plain_acl")
class PlainOptions:
    """Where the accounts are."""

    file: Path = setting(doc="the file plain_acl.yml")
    folder: Path | None = setting(
        None,
        doc="folder of more such files (.yml, .yaml), whose accounts go before those of `file`; "
        "none: the folder `acl` beside `file`, where there is one",
    )
    reload_seconds: float = setting(5.0, doc="how often they are looked at, s", check=at_least(0.1))


class State:
    """What both kinds share."""

    def __init__(self, port: AccessPort, options: PlainOptions) -> None:
        folder = options.folder or options.file.with_name("acl")
        self.files = PlainFiles(options.file, folder, port.clock, options.reload_seconds)
        self.administration = PlainAdministration(self.files, port)
        self.first = {each.user: Signer(each.secret) for each in port.initial}


def _shared(port: AccessPort, options: PlainOptions) -> State:
    return port.shared(_state, (port, options))


def _state(given: tuple[AccessPort, PlainOptions]) -> State:
    return State(*given)


class PlainAuthentication(Authentication):
    """Requests come from a white address, or are signed with the key of an account.

    The initial user and the inner credentials of the server's configuration are accounts that may do
    everything, whatever the file says.
    """

    name = "plain_acl"
    Options = PlainOptions

    def __init__(self, port: AccessPort, options: PlainOptions) -> None:
        self._state = _shared(port, options)
        self._inner = port.inner
        self._nobody = Signer("nobody has this secret")

    def authenticate(self, caller: Caller, request: Frame) -> str:
        """The access key that signed `request`."""
        key = (request.ext or {}).get(ACCESS_KEY)
        return self._known(caller, key, lambda signer: signer.fits(request))

    def authenticate_text(self, caller: Caller, user: str, text: bytes, signature: bytes) -> str:
        """`user`, the access key that signed `text`."""
        return self._known(caller, user, lambda signer: signer.fits_text(text, signature))

    @property
    def verdict_version(self) -> object:
        """Changes with the files."""
        return self._state.files.current

    def signing_key(self, caller: Caller, user: str) -> bytes | None:
        """The secret of an account, but from where nobody is asked for it."""
        is_white, signer = self._asked(caller, user)
        return None if is_white or signer is None else signer.key

    def _asked(self, caller: Caller, key: str | None) -> tuple[bool, Signer | None]:
        """Whether whoever names `key`, if any, need not sign there; with what `key` signs."""
        plain = self._state.files.current
        address = caller_address(caller.address)
        account = None if key is None else plain.accounts.get(key)
        is_white = any(address in each for file in plain.files.values() for each in file.white)
        signer = None if key is None else self._state.first.get(key) or (account.signer if account else None)
        return is_white or (account is not None and address in account.white), signer

    def _known(self, caller: Caller, key: str | None, fits: Callable[[Signer], bool]) -> str:
        is_white, signer = self._asked(caller, key)
        if is_white:
            return BY_ADDRESS
        if key is None:
            raise Refused(UNKNOWN, "the request is not signed")
        # An unknown key takes as long as a wrong signature.
        if not fits(signer or self._nobody) or signer is None:
            raise Refused(UNKNOWN, f"the signature for {key!r} is wrong" if signer else f"no account {key!r}")
        return key

    def signer(self) -> RpcHook | None:
        """Signs with the inner credentials."""
        return signer_of(self._inner)

    def serving(self) -> Sequence[object]:
        """The requests for accounts."""
        return (self._state.administration,)


class PlainAuthorization(Authorization):
    """Admins may do everything; others publish and subscribe as their account says, and look at that."""

    name = "plain_acl"
    Options = PlainOptions

    def __init__(self, port: AccessPort, options: PlainOptions) -> None:
        self._state = _shared(port, options)

    def authorize(self, user: str, caller: Caller, needs: Sequence[Need]) -> None:
        """Whether every one of `needs` is granted."""
        if user == BY_ADDRESS or user in self._state.first:
            return
        account = self._state.files.current.accounts.get(user)
        if account is not None and account.admin:
            return
        for need in needs:
            if account is None or not _allows(account, need):
                raise forbidden(user, caller, need)

    @property
    def verdict_version(self) -> object:
        """Changes with the files."""
        return self._state.files.current

    def serving(self) -> Sequence[object]:
        """The requests for accounts."""
        return (self._state.administration,)


def _allows(account: Account, need: Need) -> bool:
    if need.resource is Resource.CLUSTER or CHANGING.issuperset(need.actions):
        return False  # an admin's
    # Whoever may use a resource may look at it, too.
    wanted = _EITHER.intersection(need.actions) or _EITHER
    if need.resource is Resource.TOPIC:
        owned = account.topics.get(need.name, account.default_topic)
    else:
        owned = account.groups.get(need.name, account.default_group)
    return not wanted.isdisjoint(owned)
