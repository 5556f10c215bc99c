"""What the process that answers brokers is to serve, when it ends, and what it says of brokers."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mqframe_spark.exact import check_back_answers, rules
from mqframe_spark.exact.answering import process
from mqframe_spark.exact.check_back_answers import CheckBackServer, Limit, Serving, limit_of, limits, parse
from mqframe_spark.exact.place import CommitPlace, group_of, stream_place

from mqframe.core.errors import RouteError, SettingError

WHERE = {"nameserver": "127.0.0.1:1", "group": "g", "commitPath": "/c"}


def test_by_hand_it_finds_the_group_by_the_path() -> None:
    serving = parse(["nameserver=127.0.0.1:1", "topic=orders", "checkpointLocation=/a=b"])
    place = stream_place(serving.options)
    assert place == CommitPlace("/a=b/mqframe", "stream")
    assert (serving.root, serving.group) == (place.root, group_of(serving.options, place))
    assert (serving.options.topic, serving.anchor, serving.topics) == ("orders", None, "")


def test_a_driver_tells_it_what_to_wait_for() -> None:
    serving = parse(["-"], json.dumps({**WHERE, "anchor": [5, "77"], "topics": "/t"}))
    assert (serving.root, serving.group, serving.anchor, serving.topics) == ("/c", "g", (5, "77"), "/t")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["topic"], "argument 'topic': must be an option of the sink, name=value, or -"),
        (["nameserver=127.0.0.1:1", "path=/a"], "unknown option path"),
        (["nameserver=127.0.0.1:1"], "checkpointLocation, or commitPath"),
        (["-"], "standard input is no JSON"),
    ],
)
def test_bad_arguments(arguments: list[str], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        parse(arguments, "{")


def test_the_command_says_in_one_line_what_is_wrong() -> None:
    command = [sys.executable, "-m", "mqframe_spark.exact.check_back_answers", "topic"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("mqframe: argument 'topic': must be an option")
    assert done.stderr.count("\n") == 1


def test_a_broker_gives_up_after_its_last_check() -> None:
    config = {"transactionCheckMax": "4", "transactionCheckInterval": "15000", "transactionTimeOut": "200"}
    assert limit_of("broker-a", config) == Limit("broker-a", 4, 60.2)
    # What Apache's brokers do by default.
    assert limit_of("broker-b", {}) == Limit("broker-b", 15, 456.0)


def test_limits_are_those_of_all_brokers_with_the_topics(make_query) -> None:
    query = make_query(check_max=4, check_interval_ms=15_000)
    query.cluster.create_topic("paid", 1)
    assert limits(query.options, ["orders", "paid"]) == [Limit("broker-a", 4, 60.2)]


class Turns:
    """Stands for the event that stops the server: each wait does the next of `steps`, then it is set."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self.steps = list(steps)
        self.waits: list[float] = []

    def is_set(self) -> bool:
        return len(self.waits) > len(self.steps)

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        if len(self.waits) <= len(self.steps):
            self.steps[len(self.waits) - 1]()


class Producer:
    """Is asked for the queues of topics; those in `unknown` nobody has."""

    def __init__(self) -> None:
        self.groups: list[str] = []
        self.asked: list[str] = []
        self.unknown: set[str] = set()
        self.open = False

    def make(self, group: str, **_: Any) -> "Producer":
        self.groups.append(group)
        return self

    def __enter__(self) -> "Producer":
        self.open = True
        return self

    def __exit__(self, *_: object) -> None:
        self.open = False

    def queues(self, topic: str) -> None:
        assert self.open
        self.asked.append(topic)
        if topic in self.unknown:
            raise RouteError(f"nobody has {topic}")


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> Producer:
    """What the server takes for its producer; its brokers ask four times."""
    found = Producer()
    monkeypatch.setattr(check_back_answers, "BatchTransactionProducer", found.make)
    monkeypatch.setattr(
        check_back_answers, "limits", lambda options, topics: [Limit(f"of {topics[0]}", 4, 60.0)]
    )
    return found


@pytest.fixture
def named(tmp_path: Path) -> Path:
    """The file in which a driver names topics."""
    file = tmp_path / "topics"
    file.write_text("orders\n")
    return file


def serving(named: Path | None = None, anchor: tuple[int, str] | None = None, **options: str) -> Serving:
    given = {**WHERE, **options}
    return parse(["-"], json.dumps({**given, "anchor": anchor, "topics": str(named or "")}))


def own() -> tuple[int, str]:
    """This process, as a driver that lives."""
    found = process(os.getpid())
    assert found is not None
    return found.pid, found.started


def serve(what: Serving, *steps: Callable[[], object]) -> int:
    """Serves until it ends by itself, or after one wait more than there are `steps`; gives the waits."""
    turns = Turns(*steps)
    CheckBackServer(what, turns).run()  # type: ignore[arg-type]
    return len(turns.waits)


def test_topics_that_are_named_later_become_known_once(producer, named, caplog) -> None:
    def name_another() -> None:
        with named.open("a") as file:
            file.write("paid\n")

    assert serve(serving(named, own()), name_another, lambda: None) == 3
    assert producer.groups == ["g"]
    assert producer.asked == ["orders", "paid"]
    assert not producer.open
    lines = [record.getMessage() for record in caplog.records]
    said = [line for line in lines if "before the broker gives up" in line]
    assert len(said) == 2
    assert "broker='of orders' checks=4 minutes=1.0 commitPath='/c'" in said[0]
    assert "broker='of paid'" in said[1]
    assert named.exists()


def test_brokers_that_do_not_know_a_topic_yet_are_asked_again(producer, named, caplog) -> None:
    producer.unknown = {"orders"}
    assert serve(serving(named, own()), producer.unknown.clear, lambda: None) == 3
    assert producer.asked == ["orders", "orders"]
    assert caplog.text.count("brokers do not know yet who answers") == 1


def test_by_hand_topics_are_those_of_the_option_and_of_the_record(producer, tmp_path) -> None:
    CommitPlace(str(tmp_path), "stream").record().publish(
        rules.commit(rules.first("r"), 1, rules.OpenBatch(0, {}), topics=["paid", "open"])
    )
    assert serve(serving(commitPath=str(tmp_path), topic="orders")) == 1
    assert producer.asked == ["open", "orders", "paid"]


def test_it_ends_with_its_driver_and_leaves_no_file(producer, named) -> None:
    pid, started = own()
    assert serve(serving(named, (pid, f"{started} later"))) == 0
    assert not named.exists()
    assert producer.asked == []


def test_it_ends_when_nothing_was_written_for_long(producer, named) -> None:
    long_ago = named.stat().st_mtime - check_back_answers.UNUSED_SECONDS - 1
    assert serve(serving(named, own()), lambda: os.utime(named, (long_ago, long_ago)), lambda: None) == 1
    assert named.exists(), "the next batch could not start it anew"
