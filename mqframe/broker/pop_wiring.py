"""The parts that keep the progress of consumers that pop."""

from __future__ import annotations

from collections.abc import Callable

from mqframe.broker.part import Part
from mqframe.broker.pop import PopProcessor
from mqframe.broker.pop_ack import AckProcessor
from mqframe.broker.pop_admission import PopAdmission
from mqframe.broker.pop_journal import PopJournal
from mqframe.broker.pop_keeper import PopKeeper
from mqframe.broker.pop_looking import LookProcessor
from mqframe.broker.pop_order import OrderKeeper
from mqframe.broker.pop_revival import PopRevival
from mqframe.broker.pop_take import Taker
from mqframe.broker.pop_waiting import WaitingPops
from mqframe.broker.state import BrokerState
from mqframe.core.pop_ledger import PopLedger


def make_pop_parts(state: BrokerState, delivered_to: Callable[[], int]) -> list[Part]:
    """In the order in which they start; the keeper stops after those that use it.

    `delivered_to`: time, ms, up to which the broker's timer has delivered all that it kept.
    """
    store, topics, groups, offsets = state.store, state.topics, state.groups, state.offsets
    live, clock, statistics, identity = state.live, state.clock, state.statistics, state.identity
    ledger = PopLedger(live.current.pop_stay_ms)
    journal = PopJournal(store, state.inlet, offsets, ledger, clock, identity.cluster, identity.name)
    revival = PopRevival(
        store, state.inlet, topics, groups, offsets, live, statistics, state.keeper.save_tables
    )
    keeper = PopKeeper(ledger, journal, revival, offsets, live, clock, delivered_to)
    waiting = WaitingPops(clock)
    state.on_reset.append(lambda group, topic, queue_id: waiting.wake(topic, group, queue_id))
    order = OrderKeeper(state.orders, offsets, waiting, clock)
    admission = PopAdmission(topics, groups, state.filters, live)
    taker = Taker(
        store, topics, groups, offsets, keeper, order, revival, live, statistics, clock, identity.name
    )
    return [
        keeper,
        order,
        PopProcessor(taker, admission, waiting, live, statistics, clock),
        AckProcessor(keeper, order, topics, store, statistics, clock, identity.name),
        LookProcessor(taker, admission, order, waiting, store, live, clock),
    ]
