"""The broker service `pop`: consumers whose progress the broker keeps, message by message."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.broker.delay.service import DelayService
from mqframe.broker.popping.ack import AckProcessor
from mqframe.broker.popping.admission import PopAdmission, ReceiptAdmission
from mqframe.broker.popping.check_points import CheckPointService
from mqframe.broker.popping.long_polling import PopLongPolling
from mqframe.broker.popping.ordered import OrderedPops
from mqframe.broker.popping.peek import PeekProcessor
from mqframe.broker.popping.processor import PopProcessor
from mqframe.broker.popping.reader import PopReader
from mqframe.broker.popping.revive import ReviveService
from mqframe.broker.popping.revive_log import ReviveLog
from mqframe.broker.popping.settings import PopSettings
from mqframe.broker.service import CompositeService
from mqframe.broker.state import BrokerState
from mqframe.core.popping.bodies import OrderInfoTable
from mqframe.core.popping.check_point_table import CheckPointTable
from mqframe.core.popping.order import OrderTable
from mqframe.core.requests.pop import PopMessage
from mqframe.hooks.interfaces import SavedTable
from mqframe.hooks.specs import Factories, hookimpl


class PopService(CompositeService):
    """Pops, their acknowledgements, and what brings back messages that nobody acknowledged.

    The check points stop after those that use them. Where the broker's timer runs, it keeps check points for
    which memory has no room; `DelayService` comes before this service then.
    """

    Settings = PopSettings

    def __init__(self, state: BrokerState) -> None:
        store, conditions = state.store, state.conditions
        delivered_to = next(
            (each.delivered_to for each in state.services if isinstance(each, DelayService)),
            state.clock.now_ms,
        )
        table = CheckPointTable(state.settings(PopSettings).current.stay_ms)
        revive_log = ReviveLog(state.shared, state.writer, table, state.left_out)
        revive = ReviveService(state.shared, state.writer, state.keeper.save_tables, state.left_out)
        check_points = CheckPointService(revive_log, revive, state.offsets, conditions, delivered_to)
        waiting: PopLongPolling[PopMessage] = PopLongPolling()
        self._orders = OrderTable(state.clock)
        order = OrderedPops(self._orders, state.offsets, state.clock, store.queue_max)
        admission = PopAdmission(state.admission, state.filters)
        reader = PopReader(state.shared, check_points, order, state.left_out)
        receipts = ReceiptAdmission(store, state.topics, conditions)
        self.in_flight = table
        """The pops of which messages are in flight."""
        pops = PopProcessor(reader, admission, order, waiting, conditions)
        super().__init__(
            (
                check_points,
                pops,
                AckProcessor(receipts, check_points, order, pops, conditions),
                PeekProcessor(reader, admission, order, waiting, conditions),
            )
        )

    def tables(self) -> Sequence[SavedTable]:
        """Which queues are blocked by ordered pops."""
        return (SavedTable("consumerOrderInfo.json", OrderInfoTable, self._orders),)


@hookimpl
def register_broker_services() -> Factories:
    """`pop`."""
    return {"pop": PopService}
