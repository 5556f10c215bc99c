"""Puts the names of a client into its namespace where its requests leave, and takes them out of answers.

So everything in the client, and its hooks, knows topics and groups by the names that the application gave.
What brokers ask of it is translated likewise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mqframe.core.requests import consumers, insight, messages
from mqframe.core.requests.admin import GetConsumeStats
from mqframe.core.requests.nameserver import GetAllTopicList
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import RpcHook
from mqframe_namespaces.rules.bodies import NAMED, own_topics, renamed_body
from mqframe_namespaces.rules.fields import strip_fields, wrap_fields
from mqframe_namespaces.rules.names import Names, check_namespace
from mqframe_namespaces.rules.records import renamed_records

# Requests of other distributions, by what they are called there.
QUERY_ASSIGNMENT: Final = 400
SET_MESSAGE_REQUEST_MODE: Final = 401
PUSH_REPLY: Final = 326
POP_MESSAGE: Final = 200050
PEEK_MESSAGE: Final = 200052
BATCH_ACK: Final = 200151

_SENT_BODIES: Final[Mapping[int, frozenset[str]]] = {
    consumers.HeartBeat.CODE: NAMED,
    consumers.CheckClientConfig.CODE: NAMED,
    consumers.LockBatchMq.CODE: NAMED,
    consumers.UnlockBatchMq.CODE: NAMED,
    QUERY_ASSIGNMENT: NAMED,
    SET_MESSAGE_REQUEST_MODE: NAMED,
    BATCH_ACK: frozenset({"c", "t"}),
}
"""Bodies of requests that hold names, and the fields with them."""
_GOT_BODIES: Final = frozenset({consumers.LockBatchMq.CODE, QUERY_ASSIGNMENT, GetConsumeStats.CODE})
_GOT_RECORDS: Final = frozenset(
    {
        messages.PullMessage.CODE,
        messages.LitePullMessage.CODE,
        messages.ViewMessageById.CODE,
        messages.QueryMessage.CODE,
        POP_MESSAGE,
        PEEK_MESSAGE,
    }
)
_ASKED_WITH_RECORD: Final = frozenset(
    {messages.CheckTransactionState.CODE, insight.ConsumeMessageDirectly.CODE}
)
_ASKED_WITH_BODY: Final = frozenset({insight.ResetConsumerClientOffset.CODE})
_ANSWERED_WITH_BODY: Final = frozenset(
    {insight.GetConsumerStatusFromClient.CODE, insight.GetConsumerRunningInfo.CODE}
)
_ASKED: Final = (
    _ASKED_WITH_RECORD
    | _ASKED_WITH_BODY
    | _ANSWERED_WITH_BODY
    | {consumers.NotifyConsumerIdsChanged.CODE, PUSH_REPLY}
)
"""What brokers ask of clients, and clients of nobody."""


class NamespaceHook(RpcHook):
    """Of one client, or several, in `namespace`; raises `SettingError` where that cannot be one.

    Comes before all other hooks of a client, which so see what is sent, and sign it.
    """

    name = "namespace"

    def __init__(self, namespace: str) -> None:
        check_namespace(namespace)
        self._names = Names(namespace)

    def __repr__(self) -> str:
        return f"<NamespaceHook {self._names.namespace}>"

    def wrapped(self, name: str) -> str:
        """What brokers call the topic or group `name`."""
        return self._names.wrapped(name)

    def before(self, address: str, request: Frame) -> None:
        """Put what leaves into the namespace, and take out of it what a broker asks."""
        code, names = request.code, self._names
        if code in _ASKED:
            if request.ext:
                strip_fields(request.ext, names)
            if code in _ASKED_WITH_RECORD:
                request.body = renamed_records(request.body, names.stripped_topic, names.stripped)
            elif code in _ASKED_WITH_BODY and request.body:
                request.body = renamed_body(request.body, names.stripped_topic)
            return
        if request.ext:
            wrap_fields(code, request.ext, names)
        if code in _SENT_BODIES and request.body:
            request.body = renamed_body(request.body, names.wrapped, _SENT_BODIES[code])

    def after(self, address: str, request: Frame, answer: Frame | None) -> None:
        """Take what was answered out of the namespace, and put into it what a broker is answered."""
        if answer is None or answer.code or not answer.body:
            return
        code, names = request.code, self._names
        if code in _GOT_RECORDS:
            answer.body = renamed_records(answer.body, names.stripped_topic, names.stripped)
        elif code in _GOT_BODIES:
            answer.body = renamed_body(answer.body, names.stripped_topic)
        elif code == GetAllTopicList.CODE:
            answer.body = own_topics(answer.body, names.namespace)
        elif code in _ANSWERED_WITH_BODY:
            answer.body = renamed_body(answer.body, names.wrapped)
