"""Which messages take part in deduplication, and in which topic their keys count.

One rule serves sends and the records of the log, so that what is rebuilt after a crash is what was known
before it.

| message | takes part |
|-|-|
| sent to a topic of applications | yes, in that topic |
| sent with a delay | yes, in the topic that it is for; the copy that is delivered later does not |
| part of a transaction, half or committed | no: a rolled back half must not swallow what is sent again |
| on its way back to a consumer, or dead | no: it carries its key along, and has to be stored each time |
| of a system topic, a reply, the mark of a recall | no |
"""

from __future__ import annotations

from collections.abc import Mapping

from mqframe.core.codes import SysFlag
from mqframe.core.messages import properties as p
from mqframe.core.messages.names import (
    DLQ_PREFIX,
    REPLY_SUFFIX,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    TIMER_TOPIC,
    is_system_topic,
)


def counting_topic(topic: str, properties: Mapping[str, str], sys_flag: int) -> str | None:
    """The topic in which the key of a message counts that is stored in `topic`; `None`: it takes no part."""
    if p.TRANSACTION_PREPARED in properties or sys_flag & SysFlag.TRANSACTION_MASK:
        return None
    if topic in (SCHEDULE_TOPIC, TIMER_TOPIC):
        if p.TIMER_DELETE_KEY in properties or p.TIMER_ROLL_TIMES in properties:
            return None
        topic = properties.get(p.REAL_TOPIC, "")
    elif p.REAL_TOPIC in properties:
        return None
    if not topic or topic.startswith((RETRY_PREFIX, DLQ_PREFIX)) or topic.endswith(REPLY_SUFFIX):
        return None
    return None if is_system_topic(topic) else topic
