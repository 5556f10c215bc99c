"""A door that is killed while official clients work: what it acknowledged is there, and nothing stays away.

The server is a process, `mqframe server`, that is ended by SIGKILL and started again on its files.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from real_time import came, until

from interop.conftest import need
from interop.grpc.clients import ClientProgram, Clients, Got
from interop.grpc.doors import Door
from interop.grpc.killed_doors import REQUEST_TIMEOUT_MS, Flow, KilledDoor
from interop.grpc.programs import TOOLS

KILLS = 3
KILLS_OF_A_LONG_RUN = 12
BETWEEN = 50
"""So many messages at least are acknowledged, and come, of each language between two kills."""
SHORT_SECONDS, MINUTE_SECONDS = 20, 60
"""For how long the door hides what push consumers have: the least that may be set, and what is set."""
INVISIBLE_SECONDS = 10
"""For how long simple consumers hide what they receive."""
LATE_SECONDS = 20.0
"""How much later it may come on a busy machine: timers and polls have steps of seconds."""
NOTHING_SECONDS = 3.0
ASKED_SOON = (
    "transactions.timeout_ms=2000",
    "transactions.check_interval_ms=1000",
    "transactions.check_max=10000",
)
STREAMS_SECONDS = {"java": 60.0, "node": 60.0, "go": 420.0}
"""Within which producers open the stream anew on which they are asked: Java's and Node's look after it, Go's
does so when it tells its settings again, every five minutes. Python's needs three such rounds.
"""
OFTEN = pytest.mark.long

MakeClients = Callable[[str, Door], Clients]


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[MakeClients]:
    """Makes clients of a language in a process of its own, which ends with the test."""
    with ExitStack() as running:

        def make(language: str, door: Door) -> Clients:
            need(*TOOLS[language])
            home = tmp_path / language
            home.mkdir()
            program = ClientProgram(language, home)
            running.callback(program.end)
            return Clients(program, door)

        yield make


@pytest.mark.parametrize(
    ("languages", "kills"),
    [
        pytest.param(("java", "python"), KILLS, id="java and python"),
        pytest.param(("java", "python"), KILLS_OF_A_LONG_RUN, marks=OFTEN, id="java and python, often"),
        pytest.param(("go", "node"), KILLS_OF_A_LONG_RUN, marks=OFTEN, id="go and node, often"),
    ],
)
def test_what_was_acknowledged_comes_however_often_the_door_is_killed(
    languages: tuple[str, ...], kills: int, clients: MakeClients, tmp_path: Path
) -> None:
    """All clients are at one topic: each language gets what each sends."""
    with KilledDoor(tmp_path / "data", hidden(SHORT_SECONDS)) as server:
        server.door.create_topic("orders")
        flows = [Flow(clients(each, server.door), "orders", f"group_{each}") for each in languages]
        try:
            for _ in range(kills):
                work_on(flows)
                server.kill()
            work_on(flows)
        finally:
            for flow in flows:
                flow.stop()
        acknowledged = {key: id for flow in flows for key, id in flow.acknowledged.items()}
        sent = {key: message for flow in flows for key, message in flow.sent.items()}
        assert len(acknowledged) >= (kills + 1) * BETWEEN * len(flows)
        for flow in flows:
            complete = came(lambda flow=flow: flow.has(acknowledged), SHORT_SECONDS + LATE_SECONDS)
            assert complete, what_is_missing(flow, acknowledged)
            for got in flow.got:
                key = got.properties["key"]
                assert (got.text, got.tag, tuple(got.keys), got.properties) == sent[key]
                assert got.id == acknowledged.get(key, got.id)
        with server.door.admin() as admin:
            for flow in flows:
                until(lambda flow=flow: admin.groups.lag(flow.group) == 0)


def hidden(seconds: int) -> str:
    """The setting of for how long what push consumers have is hidden."""
    return f"plugins.grpc.renew_ms={seconds * 1000}"


def work_on(flows: list[Flow]) -> None:
    """Wait until each has sent, and was given, something."""
    before = [flow.counts() for flow in flows]

    def moved() -> bool:
        return all(
            now.acknowledged >= then.acknowledged + BETWEEN and now.came >= then.came + BETWEEN
            for now, then in zip([flow.counts() for flow in flows], before, strict=True)
        )

    until(moved)


def what_is_missing(flow: Flow, acknowledged: dict[str, str]) -> str:
    """What a consumer was not given."""
    left = sorted(set(acknowledged) - flow.keys)
    return f"{flow.language} was not given {len(left)} of {len(acknowledged)}: {left[:20]}"


class Holding:
    """A push and a simple consumer of one language with messages that they have not acknowledged.

    `seconds`: how long at least the push consumer works on its own, so that it does not acknowledge it before
    it comes again.
    """

    def __init__(self, clients: Clients, seconds: float) -> None:
        self.name = f"held_by_{clients.language}"
        self.simple_name = f"{self.name}_simply"
        for topic in (self.name, self.simple_name):
            clients.door.create_topic(topic)
        wait = {"request_timeout_ms": REQUEST_TIMEOUT_MS}
        producer = clients.producer(self.name, self.simple_name, **wait)
        self.push = clients.push(self.name, {self.name: "*"}, **wait)
        producer.send(self.name, "worked on", properties={"hangs_ms": f"{seconds * 1000:.0f}"})
        [self.worked_on] = self.push.take(1)
        self.simple = clients.simple(self.simple_name, {self.simple_name: "*"}, **wait)
        for number in range(6):
            producer.send(self.simple_name, f"{number}")
        received = self.simple.take(6, invisible_ms=INVISIBLE_SECONDS * 1000)
        self.simple.ack(*received[:3])
        self.left = received[3:]

    def is_in_the_log(self, server: KilledDoor) -> bool:
        """Whether a server that is killed now would know that all these messages are out."""
        return (
            server.saved_progress(self.name, self.name) == 1
            and server.saved_progress(self.simple_name, self.simple_name) == 6
        )


@pytest.mark.parametrize(
    ("languages", "seconds"),
    [
        pytest.param(("java", "python"), SHORT_SECONDS, id="java and python"),
        pytest.param(
            ("java", "python"), MINUTE_SECONDS, marks=pytest.mark.long, id="java and python, minute"
        ),
        pytest.param(("go", "node"), MINUTE_SECONDS, marks=pytest.mark.long, id="go and node, minute"),
    ],
)
@pytest.mark.parametrize(
    "stay_ms",
    [pytest.param(1, id="in the log"), pytest.param(10_000, marks=pytest.mark.long, id="in memory")],
)
def test_what_was_delivered_and_not_acknowledged_comes_again(
    languages: tuple[str, ...], seconds: int, stay_ms: int, clients: MakeClients, tmp_path: Path
) -> None:
    """What is out for longer than `stay_ms` is in the log, and stays hidden for its time; else it may come
    at once. What was acknowledged in the last moments may come again, too.
    """
    in_the_log = stay_ms == 1
    with KilledDoor(tmp_path / "data", hidden(seconds), f"pop.stay_ms={stay_ms}") as server:
        holding = [Holding(clients(each, server.door), seconds + LATE_SECONDS) for each in languages]
        if in_the_log:
            until(lambda: all(each.is_in_the_log(server) for each in holding))
        server.kill()
        end = time.monotonic() + seconds + LATE_SECONDS
        for each in holding:
            [again] = each.push.take(1, end - time.monotonic())
            assert same(again) == same(each.worked_on)
            missing, come = {same(got) for got in each.left}, list[Got]()
            while not missing <= {same(got) for got in come}:
                assert time.monotonic() < end
                come += each.simple.receive()
            if in_the_log:
                assert again.attempt == 2
                assert again.at > each.worked_on.at + seconds - 1
                assert {got.attempt for got in come} == {2}
                assert min(got.at for got in come) > each.left[0].at + INVISIBLE_SECONDS - 1


def same(got: Got) -> tuple[str, str, str]:
    """What a message has whenever it comes."""
    return got.topic, got.text, got.id


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "language", ["java", *(pytest.param(each, marks=pytest.mark.long) for each in ("go", "node"))]
)
def test_a_transaction_that_a_kill_interrupts_is_asked_about(
    language: str, clients: MakeClients, tmp_path: Path
) -> None:
    with KilledDoor(tmp_path / "data", *ASKED_SOON) as server:
        server.door.create_topic("orders", "TRANSACTION")
        made = clients(language, server.door)
        producer = made.producer("orders", checker=True, request_timeout_ms=REQUEST_TIMEOUT_MS)
        consumer = made.push("billing", {"orders": "*"}, request_timeout_ms=REQUEST_TIMEOUT_MS)
        checks = {"again": "unknown,unknown,unknown,commit", "kept": "commit", "dropped": "rollback"}
        sent: dict[str, str] = {}

        def send(text: str) -> None:
            properties = {"check": checks.get(text, "unknown")}
            sent[text] = producer.send("orders", text, properties=properties, transaction=True)["id"]

        send("again")
        asked, decision = producer.checked()
        assert (asked.text, decision) == ("again", "unknown")
        for text in ("kept", "dropped", "ended"):
            send(text)
        server.kill()
        started = time.monotonic()
        decided: dict[str, list[str]] = defaultdict(list)
        while not (decided["kept"] and decided["dropped"] and "commit" in decided["again"]):
            asked, decision = producer.checked(STREAMS_SECONDS[language])
            assert (asked.id, asked.topic) == (sent[asked.text], "orders")
            if asked.at > started:
                decided[asked.text].append(decision)
        assert set(decided["kept"]) == {"commit"}
        assert set(decided["dropped"]) == {"rollback"}
        assert decided["again"][-1] == "commit"
        producer.end_transaction(sent["ended"], "commit")
        got = consumer.take(3)
        assert {each.text: each.id for each in got} == {
            text: sent[text] for text in ("again", "kept", "ended")
        }
        assert consumer.within(NOTHING_SECONDS) == []
