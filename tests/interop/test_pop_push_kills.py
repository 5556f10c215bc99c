"""Our push consumers that pop, at Apache's brokers and at ours, while their processes are killed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from real_time import until

from interop.killed_workers import POISON, KilledWorkers
from interop.servers import Servers
from interop.test_pop_push import dead
from mqframe import Admin, Message, Producer
from mqframe.core.consuming.group_config import SubscriptionGroupConfig

pytestmark = [pytest.mark.long, pytest.mark.proves("pop")]

OTHERS = 1_000
RETRIES_MAX = 3
KILLS = 50
BETWEEN = 40
"""So many messages are begun between two kills, at least."""
SECONDS_MAX = 240.0


def send(servers: Servers, topic: str, bodies: list[bytes]) -> None:
    with Producer("interop", nameserver=servers.nameserver) as producer:
        for body in bodies:
            producer.send(Message(topic, body))


@pytest.mark.timeout(900)
def test_what_kills_its_process_is_a_dead_letter_and_each_other_is_handled_twice_at_most(
    servers: Servers, topic: str, tmp_path: Path
) -> None:
    group = "pop_push_poison"
    others = [b"m%d" % number for number in range(OTHERS)]
    with Admin(nameserver=servers.nameserver) as admin:
        admin.groups.create(SubscriptionGroupConfig(group, retry_max_times=RETRIES_MAX))
        send(servers, topic, [*others[:300], POISON, *others[300:]])
        with KilledWorkers(servers, group, topic, tmp_path) as workers:
            until(lambda: set(others) <= {each.body for each in workers.handled}, SECONDS_MAX)
            until(lambda: workers.handled and dead(admin, group), SECONDS_MAX)
            until(lambda: workers.handled and admin.groups.lag(group) == 0, SECONDS_MAX)
            handled, deaths = workers.handled, workers.deaths
        assert dead(admin, group) == [POISON]
    assert [each.times for each in handled if each.body == POISON] == list(range(RETRIES_MAX + 1))
    assert deaths == RETRIES_MAX + 1
    counts = Counter(each.body for each in handled if each.body != POISON)
    assert counts.keys() == set(others)
    assert max(counts.values()) <= 2


@pytest.mark.timeout(900)
def test_nothing_is_lost_however_often_processes_are_killed(
    servers: Servers, topic: str, tmp_path: Path
) -> None:
    group = "pop_push_kills"
    bodies = [b"m%d" % number for number in range(KILLS * BETWEEN + 200)]
    with Admin(nameserver=servers.nameserver) as admin:
        admin.groups.create(SubscriptionGroupConfig(group))
        send(servers, topic, bodies)
        with KilledWorkers(servers, group, topic, tmp_path) as workers:
            for kill in range(KILLS):
                until(lambda kill=kill: len(workers.handled) >= kill * BETWEEN, SECONDS_MAX)
                workers.kill_one_at_work()
            until(lambda: set(bodies) <= {each.body for each in workers.handled}, SECONDS_MAX)
            until(lambda: admin.groups.lag(group) == 0, SECONDS_MAX)
            assert workers.deaths == KILLS
        assert dead(admin, group) == []
