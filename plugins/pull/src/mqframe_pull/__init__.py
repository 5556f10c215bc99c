"""Pulls: lite pull consumers, which poll for a group, and pullers, which read a queue at any offset.

Everything public is here, imported when it is first used. The names are those of `mqframe`, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqframe.hooks.late_names import late_names

if TYPE_CHECKING:
    from mqframe_pull.lite_pull.blocking_consumer import LitePullConsumer as LitePullConsumer
    from mqframe_pull.lite_pull.consumer import AsyncLitePullConsumer as AsyncLitePullConsumer
    from mqframe_pull.puller.blocking_puller import Puller as Puller
    from mqframe_pull.puller.puller import AsyncPuller as AsyncPuller
    from mqframe_pull.settings import LitePullSettings as LitePullSettings

_HOME = {
    "AsyncLitePullConsumer": "mqframe_pull.lite_pull.consumer",
    "AsyncPuller": "mqframe_pull.puller.puller",
    "LitePullConsumer": "mqframe_pull.lite_pull.blocking_consumer",
    "LitePullSettings": "mqframe_pull.settings",
    "Puller": "mqframe_pull.puller.blocking_puller",
}

__getattr__, __dir__ = late_names(__name__, _HOME)
