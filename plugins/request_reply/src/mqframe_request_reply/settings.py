"""The settings of the broker service `request_reply`."""

from __future__ import annotations

from mqframe.core.config.settings import setting, settings


@settings("request_reply")
class ReplySettings:
    """What becomes of replies to requests."""

    store_replies: bool = setting(
        True,
        doc="store replies to requests, too, in the reply topic",
        conf="storeReplyMessageEnable",
        live=True,
        was="broker.store_replies",
    )
