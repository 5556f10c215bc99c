from __future__ import annotations

from pathlib import Path

import pytest
from celery import Celery
from hypothesis import given
from hypothesis import strategies as st
from kombu import Connection, Consumer, Exchange, Queue
from kombu_workers import Worker
from mqframe_kombu.directory import QueueRecord
from mqframe_kombu.queue_arguments import (
    ALWAYS,
    INSTEAD,
    MS_MAX,
    NUMBERS,
    OF_BINDINGS,
    PRIORITY_MAX,
    TEXTS,
    record_of,
    refuse,
)

from mqframe.core.errors import FixError

LEGAL = {
    **{name: st.integers(low, high) for name, (_, _, low, high) in NUMBERS.items()},
    **{name: st.text() for name in TEXTS},
    **{name: st.sampled_from(values) for name, values in ALWAYS.items()},
}


@given(
    st.fixed_dictionaries({"x-dead-letter-exchange": LEGAL.pop("x-dead-letter-exchange")}, optional=LEGAL),
    st.booleans(),
)
def test_what_can_be_heeded_is_in_the_record(arguments: dict[str, object], durable: bool) -> None:
    expected = {NUMBERS[name][0]: value for name, value in arguments.items() if name in NUMBERS}
    expected |= {TEXTS[name]: value for name, value in arguments.items() if name in TEXTS}
    assert record_of("q", arguments, durable=durable) == QueueRecord(durable=durable, **expected)


def test_none_is_as_if_it_were_not_given() -> None:
    assert record_of("q", {"x-max-length": None, "x-expires": None}, exclusive=True) == QueueRecord(
        exclusive=True
    )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (
            "x-max-length",
            5,
            r"= 5 \(`max_length` of `kombu.Queue`\): queues have no limit here.*`message_ttl`",
        ),
        ("x-max-length-bytes", 5, r"\(`max_length_bytes` of `kombu.Queue`\): queues have no limit"),
        ("x-overflow", "reject-publish", "= 'reject-publish': queues have no limit"),
        ("x-delivery-limit", -1, "= -1: it is a number of returns, a whole number from 0 to"),
        ("x-single-active-consumer", True, "--concurrency 1"),
        ("x-consumer-timeout", 5, "`task_time_limit`"),
        ("x-queue-type", "stream", "only classic and quorum.*read from any offset"),
        ("x-queue-mode", "slow", "leave it out"),
        ("x-max-age", "1D", r"`store\.keep_hours`"),
        ("x-dead-letter-strategy", "at-most-once", "at-least-once"),
        ("x-dead-letter-routing-key", "k", "needs `x-dead-letter-exchange`"),
        ("x-dead-letter-exchange", 5, "a text"),
        ("x-max-priority", 11, r"\(`max_priority` of `kombu.Queue`\): 10 at most.*`priority_steps`"),
        ("x-max-priority", -1, "a whole number from 0 to 10"),
        ("x-max-priority", True, "a whole number from 0 to 10"),
        ("x-message-ttl", 0.5, "milliseconds, a whole number from 0 to"),
        ("x-message-ttl", MS_MAX + 1, "milliseconds"),
        ("x-expires", 0, "a whole number from 1 to"),
        ("x-mesage-ttl", 5, "did you mean x-message-ttl"),
        ("ha-mode", "all", "it knows x-message-ttl, .*x-queue-type"),
    ],
)
def test_what_cannot_be_heeded_is_refused_with_what_to_do_instead(
    name: str, value: object, said: str
) -> None:
    with pytest.raises(FixError, match=f"^the queue 'orders' cannot have {name} .*{said}"):
        record_of("orders", {name: value})


@given(st.sampled_from(sorted({*INSTEAD} - {*ALWAYS, *NUMBERS})), st.integers() | st.text())
def test_nothing_with_advice_is_taken(name: str, value: object) -> None:
    with pytest.raises(FixError, match=name):
        record_of("q", {name: value})


def test_all_of_them_are_in_the_table_of_the_readme() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    names = {*NUMBERS, *TEXTS, *ALWAYS, *INSTEAD}
    assert [name for name in sorted(names) if f"`{name}`" not in readme] == []


def test_queues_consumers_and_exchanges_are_refused_where_they_are_declared(url: str) -> None:
    with Connection(url) as connection:
        with pytest.raises(FixError, match="the queue 'small' cannot have x-max-length = 5"):
            Queue("small", max_length=5)(connection).declare()
        assert not connection.default_channel._has_queue("small")
        with pytest.raises(
            FixError, match=r"a consumer of the queue 'q' cannot have x-priority = 5: .*equal"
        ):
            Consumer(connection, [Queue("q", consumer_arguments={"x-priority": 5})]).consume()
        with pytest.raises(
            FixError, match=r"the exchange 'e' cannot have alternate-exchange.*deadletter_queue"
        ):
            Exchange("e", arguments={"alternate-exchange": "other"})(connection).declare()
        with pytest.raises(FixError, match="a binding of the queue 'q' cannot have x-match = 'all'"):
            Queue("q", Exchange("e"), "k", binding_arguments={"x-match": "all"})(connection).declare()
        queue = Queue("lazy", queue_arguments={"x-queue-mode": "lazy", "x-queue-type": "quorum"})(connection)
        assert queue.queue_declare().message_count == 0


def test_who_declares_a_queue_that_may_only_wait_is_warned_once(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    arguments = {"x-dead-letter-exchange": "", "x-message-ttl": 1000}
    with Connection(url) as connection:
        for name in ("waits", "waits", "plain"):
            Queue(name, queue_arguments=arguments if name == "waits" else None)(connection).declare()
    said = [each for each in caplog.messages if "when somebody consumes" in each]
    assert said == [
        "what is too old becomes a dead letter when somebody consumes from the queue queue='waits'"
    ]


def test_no_arguments_are_no_reason_to_refuse() -> None:
    refuse("a binding", None, OF_BINDINGS)
    refuse("a binding", {}, OF_BINDINGS)


def test_the_highest_priority_is_what_most_people_declare() -> None:
    assert record_of("q", {"x-max-priority": PRIORITY_MAX}).max_priority == PRIORITY_MAX


def test_a_worker_ends_with_these_words(app: Celery, folder: Path) -> None:
    running = Worker(folder, "-P", "solo", TEST_QUEUE_ARGUMENTS='{"x-max-length": 1000}')
    try:
        assert running.wait() != 0
        assert running.said("the queue 'celery' cannot have x-max-length = 1000")
        assert not running.said(" ready.")
    finally:
        running.kill()
