"""Waits before each return of a message, as a policy of its group."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.core.consuming.group_config import CustomizedRetryPolicy, GroupRetryPolicy
from mqframe.core.retry.redelivery import FIRST_LEVEL


def listed_waits(waits: Sequence[int]) -> GroupRetryPolicy:
    """The policy of a group whose messages come back after `waits` (ms), one after the other.

    The last one is kept; without any the broker's levels count.
    """
    if not waits:
        return GroupRetryPolicy()
    unused = [waits[0]] * (FIRST_LEVEL - 1)
    return GroupRetryPolicy("CUSTOMIZED", CustomizedRetryPolicy([*unused, *waits]))
