"""From which broker of its name a reader goes on: the master, or a slave while it reads what is old.

Source: PullMessageProcessor.java (composeResponseHeader), DefaultMessageStore.java (getMessage).
"""

from __future__ import annotations

from typing import Final

from mqframe.core.consuming.group_config import SubscriptionGroupConfig

MASTER_ID: Final = 0


def suggested_broker(
    group: SubscriptionGroupConfig,
    behind_bytes: int,
    hot_bytes: int,
    *,
    at_slave: bool,
    slave_reads: bool | None,
) -> int:
    """The id of the broker that a member of `group` is told to pull from next.

    `behind_bytes`: how far before the log's end the last record lies that it was given, 0 for none;
    `hot_bytes`: how much of the log's end is likely to be in memory at a master (40 % of the machine's; a
    slave has 30 %). `slave_reads`: whether readers are sent to slaves; `None`, not set: as `False`.

    | slave_reads | behind_bytes | broker |
    |-|-|-|
    | false, not set | any | 0, the master |
    | true | within what is in memory | the one that the group is set to, 0 unless an operator said another |
    | true | beyond | the one for those who are slow, 1 unless an operator said another |
    """
    if not slave_reads:
        return MASTER_ID
    near_bytes = hot_bytes * 3 // 4 if at_slave else hot_bytes
    return group.which_broker_when_consume_slowly if behind_bytes > near_bytes else group.broker_id
