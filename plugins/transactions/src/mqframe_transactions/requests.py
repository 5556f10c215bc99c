"""The request that brokers of this project alone serve: a half message that is several messages."""

from __future__ import annotations

from mqframe.core.requests.fields import ONLY_OURS, request
from mqframe.core.requests.lasting import AtSlaves
from mqframe.core.requests.messages import SendAnswer, SendFieldsV2
from mqframe.core.requests.needs import Action, topic


@request(
    21320,
    SendAnswer,
    body="batch of messages (mqframe.core.messages.batch)",
    needs=topic(Action.PUB, field="b"),
    since=ONLY_OURS,
    at_slaves=AtSlaves.MESSAGES,
)
class SendHalfBatch(SendFieldsV2):
    """Store several messages of one topic and queue as one half message; brokers of this project only.

    Properties TRAN_MSG, PGROUP and HALF_BATCH (how many messages) are needed. Others answer 3. The code fits
    the 16 bits of a binary header and is far from Apache RocketMQ's (source: RequestCode.java).
    """
