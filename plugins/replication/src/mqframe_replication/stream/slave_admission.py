"""Who may follow a master (replication.md §1.7)."""

from __future__ import annotations

import secrets
from typing import Final, cast

import attrs

from mqframe.core.requests.needs import Action, Need, Needs, Resource
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call
from mqframe.hooks.interfaces.access import Refused
from mqframe.log import get_logger
from mqframe.net.access.access import Access
from mqframe.net.access.guard import Guard
from mqframe_replication.rules.admission import Home
from mqframe_replication.rules.hello import Hello, signed_frame
from mqframe_replication.settings import ALWAYS

log = get_logger("replication")
NEEDED: Final = [Need(Resource.CLUSTER, "", (Action.UPDATE,)), Need(Resource.TOPIC, "", (Action.SUB,))]
"""What brokers need for their registration, and all messages."""


@attrs.frozen
class UnknownPeer:
    """Who speaks at the replication port: a `Caller`."""

    address: str
    certificate: str


class SlaveAdmission:
    """Says who may follow a master at `home`. `hello`: the setting `replication.hello`."""

    def __init__(self, home: Home, hello: str) -> None:
        self._home = home
        self._hello = hello
        self._guard: Guard | None = None

    def enforce(self, access: Access) -> None:
        """Take only those whom `access` lets."""
        if access.authentication is not None:
            self._guard = Guard(access, None, 0)

    @property
    def plain_refusal(self) -> str:
        """Why slaves without a hello are not taken; empty: they are."""
        if self._guard is not None:
            return (
                "it does not say who it is, and this master has access control (access.authentication)."
                " RocketMQ's slaves cannot: they follow masters without it only"
            )
        if self._hello == ALWAYS:
            return "it says no hello, which this master asks for (replication.hello = always)"
        return ""

    def challenge(self) -> str:
        """What a hello has to be signed with, another text each time; empty where none is signed."""
        return "" if self._guard is None else secrets.token_hex(32)

    def refusal(self, hello: Hello, challenge: str, peer: UnknownPeer) -> str:
        """Why `peer`, who says `hello` upon `challenge`, is not taken, a sentence; empty: it is."""
        if self._guard is not None:
            call = Call(signed_frame(hello, challenge), cast("Peer", peer), 0.0)
            try:
                self._guard.admit(call, Needs(lambda _: NEEDED))
            except Refused as refused:
                log.warning("a hello is refused", cause=refused.cause, peer=peer.address)
                return f"{refused.remark} (access.inner_credentials of the slave)"
        return self._home.refusal(hello)
