"""POP: consumers take messages one by one and acknowledge each; brokers keep which are in flight.

Everything public is here, and imported when it is first used: a broker loads nothing of the consumers, an
application nothing of the broker's part. The names of consumers are those of `mqframe`, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqframe.hooks.late_names import late_names

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

__getattr__, __dir__ = late_names(__name__, _HOME)
