"""POP: consumers take messages one by one and acknowledge each; brokers keep which are in flight.

Everything public is here, and imported when it is first used: a broker loads nothing of the consumers, an
application nothing of the broker's part. The names of consumers are those of `mqframe`, too.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqframe_pop.broker.service import PopService as PopService
    from mqframe_pop.client.blocking_consumer import SimpleConsumer as SimpleConsumer
    from mqframe_pop.client.consumer import AsyncSimpleConsumer as AsyncSimpleConsumer
    from mqframe_pop.rules.popped import PoppedMessage as PoppedMessage
    from mqframe_pop.settings import PopSettings as PopSettings

_HOME = {
    "AsyncSimpleConsumer": "mqframe_pop.client.consumer",
    "PopService": "mqframe_pop.broker.service",
    "PopSettings": "mqframe_pop.settings",
    "PoppedMessage": "mqframe_pop.rules.popped",
    "SimpleConsumer": "mqframe_pop.client.blocking_consumer",
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
