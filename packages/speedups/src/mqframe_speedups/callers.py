"""What access control says of those who ask, remembered as long as it holds.

Compiled code looks at the signature of every request. Who there is, with which key each signs, and what each
is granted, it asks here once for a connection, and again when anything changed that decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

import attrs

from mqframe.core.errors import FrameError, Refusal
from mqframe.core.requests import REQUESTS
from mqframe.core.requests.needs import Need
from mqframe.core.requests.peer import Peer
from mqframe.core.wire.frame import Frame, FrameDecoder
from mqframe.hooks.interfaces.access import (
    Authentication,
    Authorization,
    Caller,
    RemembersVerdicts,
    SignsByFields,
)
from mqframe_speedups._native import Signers

ACCESS_KEY: Final = "AccessKey"
"""The header field with the user (`SignsByFields`)."""
CONNECTIONS_MAX: Final = 10_000
KINDS_MAX: Final = 1_000
"""Connections of which something is remembered, and kinds of pulls of one; then all is forgotten."""


def first_frame(data: bytes) -> Frame | None:
    """The whole frame with which `data` begins; `None` where that cannot be read."""
    decoder = FrameDecoder()
    decoder.receive(data)
    try:
        return decoder.next_frame()
    except FrameError:
        return None


@attrs.define(eq=False)
class Judges:
    """The plugins of access control, whose verdicts may be remembered; `what`: `None` grants everything."""

    who: SignsByFields
    what: Authorization | None

    @property
    def version(self) -> tuple[object, ...]:
        """What they said holds as long as each of these is the very same object."""
        both = (self.who, self.what)
        return tuple(each.verdict_version for each in both if isinstance(each, RemembersVerdicts))

    def grant(self, user: str, caller: Caller, needs: Sequence[Need]) -> bool:
        """Whether `user`, who is known, is granted all of `needs`."""
        if self.what is None:
            return True
        try:
            self.what.authorize(user, caller, needs)
        except Refusal:
            return False
        return True


@attrs.define(eq=False)
class KnownCaller:
    """What is known of one connection. `signers`: for compiled code; `_kinds`: of pulls that are granted."""

    _judges: Judges
    signers: Signers = attrs.field(factory=Signers)
    _kinds: set[object] = attrs.field(factory=set)

    def tells(self, peer: Peer, data: bytes, start: int) -> bool:
        """Say what has to be known of the request at byte `start` of `data`; whether it can be served now."""
        asked, caller = self.signers.asked(), cast("Caller", peer)
        if asked is None:
            return False
        user, send = asked
        if send is None:
            # A request that names nobody is nobody's, whatever plugins make of an empty name.
            self.signers.know(user, self._judges.who.signing_key(caller, user) if user else None)
            return True
        frame = first_frame(data[start:])
        if frame is None or not self._judges.grant(user, caller, REQUESTS[frame.code].NEEDS.find(frame)):
            return False
        self.signers.grant(user, *send)
        return True

    def may_pull(self, peer: Peer, kind: object, user: str, needs: Sequence[Need]) -> bool:
        """Whether `user`, who signed it, is granted what pulls of this `kind` need."""
        if kind in self._kinds:
            return True
        if not self._judges.grant(user, cast("Caller", peer), needs):
            return False
        if len(self._kinds) >= KINDS_MAX:
            self._kinds.clear()
        self._kinds.add(kind)
        return True


class KnownCallers:
    """What is known of all connections of a broker."""

    def __init__(self, judges: Judges) -> None:
        self._judges = judges
        self._version: tuple[object, ...] = ()
        self._known: dict[tuple[str, str], KnownCaller] = {}

    def of(self, peer: Peer) -> KnownCaller:
        """What is known of `peer`, and holds."""
        version = self._judges.version
        same = [new is old for new, old in zip(version, self._version, strict=False)]
        if not same or not all(same) or len(self._known) > CONNECTIONS_MAX:
            self._known.clear()
            self._version = version
        # All that a plugin sees of a connection.
        key = peer.address, cast("Caller", peer).certificate
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = KnownCaller(self._judges)
        return found


def judges_of(who: Authentication | None, what: Authorization | None) -> Judges | None:
    """The plugins of access control; `None` where one of them has to be asked every time."""
    if not isinstance(who, SignsByFields) or not isinstance(what, RemembersVerdicts | None):
        return None
    if not _means(who, "authenticate", "signing_key") or (what is not None and not _means(what, "authorize")):
        return None
    return Judges(who, what)


def _means(plugin: object, asked: str, *more: str) -> bool:
    """Whether what a plugin promises is of the class by which it is `asked`, or of one that knows that one.

    A class that has another answer and says nothing of how long it holds has promised nothing.
    """
    classes = type(plugin).__mro__
    last = next(at for at, each in enumerate(classes) if asked in vars(each))
    names = {name for each in classes[: last + 1] for name in vars(each)} | set(
        getattr(plugin, "__dict__", ())
    )
    return names.issuperset(("verdict_version", *more))
