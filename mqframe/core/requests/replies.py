"""Replies to requests that applications sent as messages (source: ReplyMessageProcessor.java)."""

from __future__ import annotations

from mqframe.core.requests.fields import request
from mqframe.core.requests.messages import SendAnswer, SendFields, SendFieldsV2
from mqframe.core.requests.needs import signed


@request(324, SendAnswer, body="message body", needs=signed())
class SendReplyMessage(SendFields):
    """Hand a reply to the client that waits for it (first form of the header)."""


@request(325, SendAnswer, body="message body", needs=signed())
class SendReplyMessageV2(SendFieldsV2):
    """Hand a reply to the client that waits for it (short form of the header)."""
