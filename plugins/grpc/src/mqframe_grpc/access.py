"""Who calls, and whether they may: what the broker's access control says of calls.

Of each call the user is found anew, so that who is disabled is refused at once; it costs some microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from mqframe.core.clock import Clock
from mqframe.core.errors import Refusal
from mqframe.core.requests.needs import Action, Need, group_need, topic_need
from mqframe.hooks.interfaces import Caller, ProxiedClient, Signed
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.signature import check_age, signature_of
from mqframe_grpc.transport.call import GrpcCall

_PUB = (Action.PUB,)
_SUB = (Action.SUB,)


class Judge(Protocol):
    """`mqframe.hooks.interfaces.BrokerRequests.judge`."""

    def __call__(
        self, peer: Caller, needs: Sequence[Need], user: str = "", signed: Signed | None = None
    ) -> str:
        """The user that `peer` is, who is granted `needs`; "" where nobody is asked. Raises `Refusal`."""


def ask_nobody(peer: Caller, needs: Sequence[Need], user: str = "", signed: Signed | None = None) -> str:
    """The `Judge` where there is no access control."""
    return ""


class AgeLimit(NamedTuple):
    """How far from now a signature may have been made, by the server's clock; 0 ms: as far as it likes."""

    clock: Clock
    max_ms: int


class Gate:
    """Asks `judge`. `age`: of the signature where a call begins; `None`: whatever it likes."""

    def __init__(self, judge: Judge, age: AgeLimit | None = None) -> None:
        self._judge = judge
        self._age = age

    def user_of(self, call: GrpcCall, *, goes_on: bool = False) -> str:
        """Who has signed `call`, or whom its connection stands for; "" where nobody is asked.

        `goes_on`: it has begun before, and its signature may be older by now. Raises `Rejected` UNAUTHORIZED,
        and `ConnectionLost` while the broker serves nobody.
        """
        signed: Signed | None = None
        wrong: Rejected | None = None
        try:
            found = signature_of(call.metadata)
            if found is not None:
                signed = (found.access_key, found.content, found.signature)
                age = self._age
                if age is not None and age.max_ms and not goes_on:
                    check_age(found, age.clock.now_ms(), age.max_ms)
        except Rejected as problem:
            # Nobody's signature, so that the refusal counts; nothing where nobody is asked.
            wrong, signed = problem, (signed[0] if signed else "", b"", b"")
        try:
            return self._judge(call, (), "", signed)
        except Refusal as refusal:
            raise wrong or Rejected(m.Code.UNAUTHORIZED, refusal.remark) from None

    def check(self, client: ProxiedClient, *needs: Need) -> None:
        """Return when the user of `client` is granted all of `needs`. Raises as `user_of`."""
        try:
            self._judge(client, needs, client.user)
        except Refusal as refusal:
            raise Rejected(m.Code.UNAUTHORIZED, refusal.remark) from None


def to_look_at(topic: str) -> Need:
    """What a route needs: anything that has to do with the topic."""
    return topic_need(topic, (Action.PUB, Action.SUB, Action.GET))


@lru_cache(maxsize=1 << 12)
def to_publish(topic: str) -> Need:
    """What sending needs, and the end of a transaction."""
    return topic_need(topic, _PUB)


def to_consume(group: str, *topics: str) -> list[Need]:
    """What a member of a group needs, of these topics."""
    return [group_need(group, _SUB), *[topic_need(topic, _SUB) for topic in topics]]


def to_be_settled(settings: m.Settings) -> list[Need]:
    """What the settings of a client need. Source: DefaultAuthorizationContextBuilder.java."""
    if settings.WhichOneof("pub_sub") == "publishing":
        return [to_publish(topic.name) for topic in settings.publishing.topics]
    said = settings.subscription
    return to_consume(said.group.name, *[each.topic.name for each in said.subscriptions])
