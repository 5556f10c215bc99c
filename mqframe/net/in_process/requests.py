"""Where peers in the process of their server come from: `mqframe.hooks.interfaces.BrokerRequests`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import ConnectionLost, Refusal
from mqframe.core.messages.addresses import encode_host
from mqframe.core.requests.needs import Need, Needs
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces.access import Caller, Signed
from mqframe.hooks.interfaces.broker_requests import ProxiedClient
from mqframe.net.in_process.peer import InProcessPeer
from mqframe.net.peer_group import PeerGroup


class InProcessRequests:
    """Opens peers beside the connections of a server, once there is one (`serve_by`)."""

    def __init__(self) -> None:
        self._group: PeerGroup | None = None

    def serve_by(self, group: PeerGroup) -> None:
        """Peers are served like the connections in `group`, while that runs."""
        self._group = group

    def connect(self, client: ProxiedClient) -> InProcessPeer:
        """A peer for `client`. Raises `ConnectionLost`, `Refusal` and `ValueError`."""
        group = self._serving()
        try:
            encode_host(client.address)
        except ValueError:
            raise ValueError(
                f'address {client.address!r} of a client is no "ip:port": messages are stored with it'
            ) from None
        peer = InProcessPeer(group, client)
        if not group.enter(peer):
            raise Refusal(
                ResponseCode.SYSTEM_BUSY,
                "the server has as many connections as it may (net.connections_max); try again later",
            )
        return peer

    def judge(self, peer: Caller, needs: Sequence[Need], user: str = "", signed: Signed | None = None) -> str:
        """Who `peer` is, that may do what `needs` say; see `BrokerRequests.judge`."""
        admit = self._serving().endpoint.admit
        if admit is None:
            return user
        call = Call(Frame(0), cast("Peer", peer), 0.0)
        call.user = user
        admit(call, Needs(lambda _: list(needs)), signed)
        return call.user

    def _serving(self) -> PeerGroup:
        if self._group is None or not self._group.running:
            lost = ConnectionLost("no requests are served now: the server has not started yet, or stops")
            lost.maybe_stored = False
            raise lost
        return self._group
