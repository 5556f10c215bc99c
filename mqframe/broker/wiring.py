"""Which parts a broker has, and what each is handed."""

from __future__ import annotations

import os
import random

from mqframe.broker.assignment import AssignmentProcessor
from mqframe.broker.check_backs import CheckBacks
from mqframe.broker.clients import ClientProcessor
from mqframe.broker.delay_wiring import make_delay_parts
from mqframe.broker.dispatch_lag import DispatchLag
from mqframe.broker.groups import GroupProcessor
from mqframe.broker.half_queue import HalfQueue
from mqframe.broker.inspection import InspectionProcessor
from mqframe.broker.locks import LockProcessor
from mqframe.broker.lookup import LookupProcessor
from mqframe.broker.offsets import OffsetProcessor
from mqframe.broker.part import Part
from mqframe.broker.pop_wiring import make_pop_parts
from mqframe.broker.progress import Progress
from mqframe.broker.pull import PullProcessor
from mqframe.broker.registration import Registration
from mqframe.broker.relay import RelayProcessor
from mqframe.broker.replies import ReplyProcessor
from mqframe.broker.resets import ResetProcessor
from mqframe.broker.runtime import RuntimeProcessor
from mqframe.broker.send import SendProcessor
from mqframe.broker.send_back import SendBackProcessor
from mqframe.broker.send_rules import DelayMessages, DivertDeadLetters, Rule
from mqframe.broker.send_targets import SendTargets
from mqframe.broker.state import BrokerState
from mqframe.broker.stats import StatsProcessor
from mqframe.broker.topics import TopicProcessor
from mqframe.broker.transactions import HoldHalfMessages, TransactionProcessor
from mqframe.core.ids import UniqueIds


def make_parts(state: BrokerState, registration: Registration) -> list[Part]:
    """All parts, in the order in which they start."""
    store, topics, groups, offsets = state.store, state.topics, state.groups, state.offsets
    live, clock, statistics, clients = state.live, state.clock, state.statistics, state.clients
    identity, locks = state.identity, state.locks
    targets = SendTargets(topics, live, statistics)
    progress = Progress(store, offsets, identity)
    delay_parts, counters, delivered_to = make_delay_parts(state)
    dispatch_lag = DispatchLag(store.lags, live, clock)
    rules: tuple[Rule, ...] = (
        DivertDeadLetters(groups, topics, targets, locks),
        HoldHalfMessages(topics, targets, live),
        DelayMessages(state.delays, identity.name),
    )
    return [
        # First, for it completes a commit that a crash cut off, and that has to be what the log ends with.
        TransactionProcessor(
            HalfQueue(store, offsets, state.inlet, clock), CheckBacks(clients, identity), topics, live, clock,
            statistics, store.settings.keep_hours * 3_600_000,
        ),
        SendProcessor(
            store, targets, identity, live, clock, statistics, _unique_ids(state), rules,
            store.settings.flush == "SYNC_FLUSH",
        ),
        SendBackProcessor(store, state.inlet, topics, groups, clients, live, statistics, state.levels),
        PullProcessor(
            store, topics, groups, clients, offsets, state.filters, state.polling, live, clock, statistics
        ),
        ClientProcessor(clients, groups, topics, live, state.filters),
        ReplyProcessor(targets, clients, state.inlet, identity, live, clock),
        OffsetProcessor(store, offsets, topics, groups),
        LockProcessor(locks, groups, clients),
        LookupProcessor(store, live),
        TopicProcessor(topics, store, offsets, identity, statistics, registration.told),
        GroupProcessor(groups, offsets, live, statistics),
        StatsProcessor(store, topics, offsets, clients, identity, statistics, progress),
        InspectionProcessor(
            store, topics, groups, offsets, clients, identity, statistics, progress, clock
        ),
        ResetProcessor(store, topics, groups, offsets, clients, state.on_reset, identity, live),
        RelayProcessor(store, topics, groups, clients, identity),
        *delay_parts,
        *make_pop_parts(state, delivered_to),
        AssignmentProcessor(state.modes, topics, groups, clients, registration, identity, live, clock),
        dispatch_lag,
        RuntimeProcessor(
            store, offsets, topics, live, clock, statistics, [*counters, dispatch_lag.counters]
        ),
    ]  # fmt: skip


def _unique_ids(state: BrokerState) -> UniqueIds:
    ip = state.identity.store_host[:-4]
    return UniqueIds(state.clock, ip, os.getpid(), random.getrandbits(32))
