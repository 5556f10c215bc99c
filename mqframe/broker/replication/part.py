"""What the role of a broker adds to it; of a broker that is alone, nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from mqframe.broker.cluster.registration import NameServerRegistration
from mqframe.broker.elected.follower import FollowerPart
from mqframe.broker.elected.leader import LeaderPart
from mqframe.broker.elected.posts import FollowerPost, Post
from mqframe.broker.replication.commits import forget_commits
from mqframe.broker.replication.master import MasterPart
from mqframe.broker.replication.slave import SlavePart
from mqframe.broker.sections import BrokerSections
from mqframe.broker.service import BrokerPart
from mqframe.broker.state import BrokerState
from mqframe.core.cluster.broker_info import HaRuntimeInfo
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.requests.admin import ExchangeBrokerHaInfo, GetBrokerHaStatus
from mqframe.core.requests.serving import Call, serves
from mqframe.net.access.access import Access
from mqframe.net.client import Client
from mqframe.replication.settings import NONE
from mqframe.store.reading.reads import StoreReads


class AlonePart(BrokerPart):
    """A broker that nobody copies."""

    def __init__(self, store: StoreReads) -> None:
        self._store = store

    @serves(GetBrokerHaStatus)
    def ha_status(self, fields: GetBrokerHaStatus, call: Call) -> HaRuntimeInfo:
        return HaRuntimeInfo(master_commit_log_max_offset=self._store.max_offset)

    @serves(ExchangeBrokerHaInfo)
    def ha_address(self, fields: ExchangeBrokerHaInfo, call: Call) -> None:
        raise Refusal(
            ResponseCode.SYSTEM_ERROR,
            "nobody can copy this broker: replication.role (brokerRole) is NONE",
        )


@attrs.frozen
class Replication:
    """`push`: sends slaves what was appended; `enforce`: has access control count for what is copied;
    `refuses_readers`: whether a slave refuses pulls now."""

    parts: Sequence[BrokerPart]
    push: Callable[[], object] = lambda: None
    enforce: Callable[[Access], None] = lambda access: None
    refuses_readers: Callable[[], bool] = lambda: False


def make_replication(
    sections: BrokerSections,
    state: BrokerState,
    client: Client,
    registration: NameServerRegistration,
    post: Post | None = None,
) -> Replication:
    """The parts of a broker for its role; `post`: what it is in an elected group."""
    if isinstance(post, FollowerPost):
        follower = FollowerPart(sections, state, client, registration, post)
        return Replication([follower], enforce=follower.enforce, refuses_readers=follower.refuses_readers)
    if post is not None:
        leader = LeaderPart(sections, state, post)
        return Replication([leader], leader.push, leader.enforce)
    if sections.is_slave:
        slave = SlavePart(sections, state, client, registration)
        return Replication([slave], enforce=slave.enforce, refuses_readers=slave.refuses_readers)
    forget_commits(state.directory / "config")
    if sections.replication.role == NONE:
        return Replication([AlonePart(state.store)])
    master = MasterPart(sections, state)
    return Replication([master], master.push, master.enforce)
