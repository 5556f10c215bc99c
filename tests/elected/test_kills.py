"""Many kills of real processes under load: all that was acknowledged is there in the end, and counted.

    pytest tests/elected/test_kills.py -m long -s --seed 7 --cases 50

`--cases`: how many kills; `-s` shows what was counted.
"""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from elected_group import ElectedGroup, Engine, Etcd, Member, SharedFile
from real_time import came, until
from steady_load import TOPIC, Sender, consuming, rests, sending, stored
from trust.series import wanted

KILLS_OF_A_LONG_RUN = 20
SENDERS = 3
SETTINGS = (
    "election.lease_ms=2000",
    "election.renew_ms=500",
    "election.margin_ms=400",
    "election.first_wait_ms=500",
    "replication.tables_interval_ms=1000",
    "store.commit_log_file_bytes=4194304",
)


@pytest.fixture(params=["etcd", "sqlite"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Etcd | SharedFile]:
    """Either engine, with nothing in it."""
    if request.param == "etcd" and shutil.which("etcd") is None:
        pytest.skip("not installed: etcd")
    made = Etcd() if request.param == "etcd" else SharedFile(tmp_path)
    yield made
    made.end()


class Killer:
    """Kills what a group consists of, by `chance`, and brings it back.

    `kills`: how many of what; `slowest`: how many seconds it took the group at most to go on, and after what.
    """

    def __init__(self, group: ElectedGroup, senders: list[Sender], chance: random.Random) -> None:
        self.kills: Counter[str] = Counter()
        self.slowest = (0.0, "")
        self._group = group
        self._senders = senders
        self._chance = chance

    @property
    def _acknowledged(self) -> int:
        return sum(len(sender.acknowledged) for sender in self._senders)

    def _goes_on(self) -> None:
        """Wait until some more was acknowledged, as much as chance says."""
        goal = self._acknowledged + self._chance.randint(1, 300)
        until(lambda: self._acknowledged >= goal)

    def kill_something(self) -> None:
        """One kill; it returns when the group goes on, though perhaps without all of its members."""
        everybody = tuple(self._group.members)
        if self._chance.random() < 0.5:
            until(lambda: self._group.in_sync() == everybody)
        kind = self._chance.choices(
            ("leader", "follower", "engine", "leader paused", "leader and follower", "all"),
            (5, 4, 3, 2, 1, 1),
        )[0]
        self.kills[kind] += 1
        began = time.monotonic()
        could_go_on = self._group.in_sync() == everybody
        if kind == "engine":
            self._kill_engine()
        elif kind == "leader paused":
            self._pause_leader(could_go_on=could_go_on)
        else:
            self._kill_members(kind, could_go_on=could_go_on)
        self._goes_on()
        self.slowest = max(self.slowest, (time.monotonic() - began, f"kill {self.kills.total()}, {kind}"))

    def _kill_engine(self) -> None:
        self._group.engine.kill()
        # Sometimes for so short that nobody notices, and sometimes until the lease is over.
        how_long = self._chance.choice(("at once", "some more", "rests"))
        if how_long == "rests":
            assert rests(self._senders)
        elif how_long == "some more":
            goal = self._acknowledged + self._chance.randint(1, 200)
            came(lambda: self._acknowledged >= goal, 5)
        self._group.engine.start()

    def _pause_leader(self, *, could_go_on: bool) -> None:
        """Not a kill, and more dangerous: it does not know what happened when it goes on."""
        leader = self._group.leader()
        leader.pause()
        try:
            if could_go_on:
                self._goes_on()
        finally:
            leader.resume()

    def _kill_members(self, kind: str, *, could_go_on: bool) -> None:
        leader = self._group.leader()
        followers = self._group.others(leader)
        one = self._chance.choice(followers)
        victims = {
            "leader": [leader],
            "follower": [one],
            "leader and follower": [leader, one],
            "all": [leader, *followers],
        }[kind]
        self._chance.shuffle(victims)
        for victim in victims:
            victim.kill()
        if could_go_on and len(victims) == 1 and self._chance.random() < 0.6:
            self._goes_on()
        self._start(victims)

    def _start(self, victims: list[Member]) -> None:
        for victim in victims:
            victim.start()
        for victim in victims:
            victim.ready()


def report(senders: list[Sender], killer: Killer, in_topic: Counter[bytes]) -> str:
    acknowledged = {body for sender in senders for body in sender.acknowledged}
    failed = {body for sender in senders for body in sender.failed}
    lost = acknowledged - in_topic.keys()
    doubled = [body for body, count in in_topic.items() if count > 1]
    gap = max(max(sender.gaps) for sender in senders)
    slowest, after = killer.slowest
    return (
        f"kills: {dict(killer.kills)}; acknowledged {len(acknowledged)},"
        f" found {len(acknowledged) - len(lost)}, lost {len(lost)}; doubled {len(doubled)};"
        f" answered otherwise {len(failed)}, of these found {len(failed & in_topic.keys())};"
        f" longest gap {gap:.1f} s, longest until it went on {slowest:.1f} s ({after})"
    )


@pytest.mark.long
@pytest.mark.timeout(0)
def test_all_that_was_acknowledged_is_there_after_many_kills(
    engine: Engine, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    seed, kills = wanted(pytestconfig, KILLS_OF_A_LONG_RUN)
    chance = random.Random(seed)
    more = [f"replication.min_in_sync={chance.choice((1, 2))}"]
    more.append(f"store.flush={chance.choice(('SYNC_FLUSH', 'ASYNC_FLUSH'))}")
    with ElectedGroup(tmp_path, engine, *SETTINGS, *more) as group:
        group.leader()
        until(lambda: group.in_sync() == (1, 2, 3))
        group.admin.topics.create(TOPIC, queues=4)
        senders = [Sender(group.nameserver, f"sender{number}") for number in range(SENDERS)]
        killer = Killer(group, senders, chance)
        with consuming(group.nameserver) as consumed:
            with sending(*senders):
                for _ in range(kills):
                    killer.kill_something()
            acknowledged = {body for sender in senders for body in sender.acknowledged}
            end = group.until_alike()
            in_topic = stored(group.nameserver)
            print(f"\n--seed {seed}, {', '.join(more)}: {report(senders, killer, in_topic)}")
            assert not acknowledged - in_topic.keys()
            until(lambda: in_topic.keys() <= consumed.keys())
            assert consumed.keys() == in_topic.keys()
        print(f"cut off, and kept: {[len(member.cut()) for member in group.members.values()]} bytes")
        logs = [member.log(end) for member in group.members.values()]
        assert len(logs[0]) == end
        assert logs[1:] == logs[:1] * 2
