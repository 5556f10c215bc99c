"""Pulls: lite pull consumers, which poll for a group, and pullers, which read a queue at any offset.

Everything public is here, imported when it is first used. The names are those of `mqframe`, too.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(_HOME)
