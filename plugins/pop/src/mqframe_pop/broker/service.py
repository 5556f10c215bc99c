"""The broker service `pop`: consumers whose progress the broker keeps, message by message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mqframe.hooks.interfaces import BrokerPort, CompositeService, SavedTable
from mqframe.hooks.specs import Factories, hookimpl
from mqframe_pop.broker.ack import AckProcessor
from mqframe_pop.broker.admission import PopAdmission, ReceiptAdmission
from mqframe_pop.broker.check_points import CheckPointService
from mqframe_pop.broker.cut_back import PopsCutBack
from mqframe_pop.broker.long_polling import PopLongPolling
from mqframe_pop.broker.ordered import OrderedPops
from mqframe_pop.broker.peek import PeekProcessor
from mqframe_pop.broker.processor import PopProcessor
from mqframe_pop.broker.reader import PopReader
from mqframe_pop.broker.revive import ReviveService
from mqframe_pop.broker.revive_log import ReviveLog
from mqframe_pop.requests import PopMessage
from mqframe_pop.rules.bodies import OrderInfoTable
from mqframe_pop.rules.check_point_table import CheckPointTable
from mqframe_pop.rules.order import OrderTable
from mqframe_pop.settings import PopSettings


class PopService(CompositeService):
    """Pops, their acknowledgements, and what brings back messages that nobody acknowledged.

    The check points stop after those that use them. Where the broker's timer runs, it keeps check points for
    which memory has no room; the service `delay`, which offers "delay.delivered_to", comes before this one.
    """

    Settings = PopSettings
    CutBack = PopsCutBack

    def __init__(self, port: BrokerPort) -> None:
        delivered_to = port.offered("delay.delivered_to") or port.clock.now_ms
        table = CheckPointTable(port.settings(PopSettings).current.stay_ms)
        check_points = CheckPointService(port, ReviveLog(port, table), ReviveService(port), delivered_to)
        waiting: PopLongPolling[PopMessage] = PopLongPolling()
        self._orders = OrderTable(port.clock)
        order = OrderedPops(self._orders, port.offsets, port.clock, port.store.queues.max_offset)
        admission = PopAdmission(port.reads)
        reader = PopReader(port, check_points, order)
        self._table = table
        pops = PopProcessor(port, reader, admission, order, waiting)
        super().__init__(
            (
                check_points,
                pops,
                AckProcessor(port, ReceiptAdmission(port), check_points, order, pops),
                PeekProcessor(port, reader, admission, order, waiting),
            )
        )

    def tables(self) -> Sequence[SavedTable]:
        """Which queues are blocked by ordered pops."""
        return (SavedTable("consumerOrderInfo.json", OrderInfoTable, self._orders),)

    def offers(self) -> Mapping[str, Callable[..., Any]]:
        """Offers "pop.in_flight": how far a group popped a queue, and how many messages are in flight."""
        return {"pop.in_flight": self._in_flight}

    def _in_flight(self, topic: str, group: str, queue_id: int) -> tuple[int, int]:
        return self._table.next_offset((topic, group, queue_id)), self._table.in_flight(
            topic, group, queue_id
        )


@hookimpl
def register_broker_services() -> Factories:
    """`pop`."""
    return {"pop": PopService}
