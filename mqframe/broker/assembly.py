"""Assembly of a broker: makes its services and hands each what it uses."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping, Sequence

from mqframe.broker.chosen_services import service_names
from mqframe.broker.cluster.groups import GroupProcessor
from mqframe.broker.cluster.heartbeats import HeartbeatProcessor
from mqframe.broker.cluster.registration import NameServerRegistration
from mqframe.broker.cluster.topics import TopicProcessor
from mqframe.broker.consuming.lookup import LookupProcessor
from mqframe.broker.consuming.offsets import OffsetProcessor
from mqframe.broker.consuming.processor import PullProcessor
from mqframe.broker.consuming.progress import ProgressProcessor
from mqframe.broker.consuming.queue_locks import QueueLockProcessor
from mqframe.broker.dispatch_lag import DispatchLag
from mqframe.broker.runtime import RuntimeProcessor
from mqframe.broker.sending.processor import SendProcessor
from mqframe.broker.sending.rules import SendRules, ToDeadLetters, unserved
from mqframe.broker.sending.send_back import SendBackProcessor
from mqframe.broker.services import notified
from mqframe.broker.state import BrokerState
from mqframe.core.messages.ids import UniqueIds
from mqframe.hooks.interfaces import BrokerService, KeyIndexing
from mqframe.hooks.missing import why_missing
from mqframe.net.frame_path import BringsFramePath


def make_parts(
    state: BrokerState,
    registration: NameServerRegistration,
    services: Sequence[BrokerService],
    counters: Callable[[], Mapping[str, str]] = dict,
) -> list[BrokerService]:
    """What a broker has besides `services`, which are made already. `counters`: those of its own."""
    shared, registry = state.shared, state.registry
    dispatch_lag = DispatchLag(state.store.lags, state.live, state.clock)
    declared = [rule for service in services for rule in service.send_rules()]
    dead_letters = ToDeadLetters(registry, state.locks, state.counts)
    refusing = unserved(declared, state.delays, state.live.current.services_blocked)
    rules = SendRules([*refusing, *declared], dead_letters, state.delays)
    sends = SendProcessor(shared, state.sends, _unique_ids(state), rules)
    state.sender = sends.send_whole
    pulls = PullProcessor(shared, state.reads, state.filters, state.budgets)
    for service in services:
        if isinstance(service, BringsFramePath):
            state.frame_path = service.frame_path(sends, pulls)
    administration = state.administration
    administration.announced = registration.announced
    administration.on_topic_deleted = pulls.topic_deleted
    administration.on_reset = notified((*services, pulls), "offset_reset")
    return [
        sends,
        SendBackProcessor(shared, state.writer, state.levels),
        pulls,
        HeartbeatProcessor(shared, state.filters),
        OffsetProcessor(shared),
        ProgressProcessor(shared),
        QueueLockProcessor(state.locks, registry),
        LookupProcessor(shared, _why_no_index(state)),
        TopicProcessor(shared, administration),
        GroupProcessor(shared),
        dispatch_lag,
        RuntimeProcessor(
            shared,
            [
                state.store.damage.counters,
                *(each.counters for each in (*services, dispatch_lag)),
                state.left_out.counters,
                state.budgets.counters,
                counters,
            ],
        ),
    ]  # fmt: skip


def _why_no_index(state: BrokerState) -> str:
    blocked = state.live.current.services_blocked
    names = service_names(state.live.current, state.plugins)
    there = state.plugins.brought(names, KeyIndexing)  # type: ignore[type-abstract]
    return "" if there else why_missing("index", blocked)


def _unique_ids(state: BrokerState) -> UniqueIds:
    ip = state.identity.store_host[:-4]
    return UniqueIds(state.clock, ip, os.getpid(), random.getrandbits(32))
