"""Workers of Celery as real processes: `celery -A … worker`, prefork, threads and solo."""

from __future__ import annotations

import itertools
import os
import signal
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from celery import Celery, chain, chord, group
from kombu_workers import SECONDS_MAX, notes, until, words
from mqframe_kombu import topic_of
from mqframe_testing.server_process import ServerProcess

from mqframe import Admin


def result(promise, seconds: float = SECONDS_MAX):
    return promise.get(timeout=seconds, interval=0.02)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_what_celery_composes_runs(app: Celery, worker, pool: str) -> None:
    from tasks_of_tests import add, total

    running = worker("-P", pool, "-c", "2")
    assert result(add.delay(2, 3)) == 5
    assert result(chain(add.s(1, 2), add.s(3), add.s(4))()) == 10
    assert result(group(add.s(n, n) for n in range(10))()) == [2 * n for n in range(10)]
    assert result(chord((add.s(n, n) for n in range(5)), total.s())()) == 20
    assert running.stop() == 0


def test_results_come_by_rpc_and_their_queue_is_deleted(app: Celery, worker, server) -> None:
    from tasks_of_tests import add

    app.conf.result_backend = "rpc://"
    worker("-P", "solo", TEST_BACKEND="rpc://")
    promises = [add.delay(n, 1) for n in range(5)]
    assert [promise.get(timeout=SECONDS_MAX) for promise in promises] == [1, 2, 3, 4, 5]
    topic = topic_of(app.backend.oid, virtual_host=app.connection().virtual_host)
    with Admin(nameserver=server.nameserver) as admin:
        assert topic in admin.topics.list()
        app.backend.result_consumer.cancel_for(promises[0].id)
        app.backend.result_consumer._consumer.cancel()
        until(lambda: not any(topic in each for each in admin.topics.list()))
        assert topic not in admin.groups.list()


def test_workers_are_controlled_and_leave_nothing_behind(app: Celery, folder: Path, server, worker) -> None:
    from tasks_of_tests import note

    first = worker("-P", "solo", "-n", "first@here", "-E")
    second = worker("-P", "threads", "-c", "2", "-n", "second@here")
    inspect = app.control.inspect(timeout=2, limit=2)
    assert inspect.ping() == {"first@here": {"ok": "pong"}, "second@here": {"ok": "pong"}}
    assert set(inspect.active_queues()) == {"first@here", "second@here"}
    promise = note.apply_async(("revoked",), countdown=1)
    (one, two) = app.control.revoke(promise.id, reply=True, limit=2, timeout=5)
    assert {*one, *two} == {"first@here", "second@here"}
    until(lambda: promise.state == "REVOKED")
    assert app.control.rate_limit("tasks_of_tests.note", "5/s", reply=True, limit=2, timeout=5)
    began = time.monotonic()
    for n in range(12):
        note.delay(f"slow-{n}")
    until(lambda: len(notes(folder)) == 12)
    assert time.monotonic() - began > 0.6  # without limit all are done within some ms
    assert "revoked" not in words(folder)
    app.control.shutdown()
    assert (first.wait(), second.wait()) == (0, 0)
    host = app.connection().virtual_host
    with Admin(nameserver=server.nameserver) as admin:
        mine = [topic for topic in admin.topics.list() if f"{host}%_" in topic]
        assert not [topic for topic in mine if "pidbox" in topic]
        assert set(admin.kv.list(f"kombu.queues/{host}")) == {"celery"}


def test_events_are_seen_by_who_listens(app: Celery, worker) -> None:
    from tasks_of_tests import add

    worker("-P", "solo", "-E")
    seen: list[str] = []
    with app.connection() as connection:
        receiver = app.events.Receiver(connection, handlers={"*": lambda event: seen.append(event["type"])})
        with receiver.consumer_context(wakeup=False) as (own, _, _):
            add.delay(1, 1)
            while "task-succeeded" not in seen:
                own.drain_events(timeout=SECONDS_MAX)
    assert [each for each in seen if each.startswith("task-")] == [
        "task-received",
        "task-started",
        "task-succeeded",
    ]


def test_what_a_killed_worker_held_comes_back_and_what_is_worked_on_does_not(
    app: Celery, folder: Path, worker
) -> None:
    from tasks_of_tests import wait_for

    # A worker that stands still for longer, on a machine that others use, would lose what it works on.
    late = {"TEST_ACKS_LATE": "1", "TEST_VISIBILITY": "3", "TEST_PREFETCH": "1"}
    first = worker("-c", "1", **late)
    for text in ("a", "b"):
        wait_for.delay(text)
    until(lambda: "began-a" in words(folder))
    first.kill()
    worker("-c", "1", "-n", "second@here", **late)
    until(lambda: words(folder).count("began-a") + words(folder).count("began-b") >= 2)
    worker("-c", "2", "-n", "third@here", **late)
    until(lambda: words(folder)[1:].count("began-a") == 1 and "began-b" in words(folder))
    began = now_ms()
    until(lambda: now_ms() - began > 6500)  # the invisible time is over twice
    (folder / "a").touch()
    (folder / "b").touch()
    until(lambda: {"ended-a", "ended-b"} <= set(words(folder)))
    assert sorted(words(folder)) == ["began-a", "began-a", "began-b", "ended-a", "ended-b"]


def test_a_task_whose_process_was_lost_runs_again(app: Celery, folder: Path, worker) -> None:
    from tasks_of_tests import last_words

    worker("-c", "1", TEST_ACKS_LATE="1", TEST_REJECT_ON_LOST="1")
    assert result(last_words.delay("x")) == "x"
    assert words(folder) == ["x-False", "x-True"]


def test_a_stopped_worker_gives_back_what_it_had_not_begun(app: Celery, folder: Path, worker) -> None:
    from tasks_of_tests import note, wait_for

    first = worker("-P", "threads", "-c", "1", TEST_PREFETCH="4")
    wait_for.delay("go")
    until(lambda: "began-go" in words(folder))
    for n in range(3):
        note.delay(f"n{n}")
    until(lambda: first.log.read_text("utf-8").count("received") == 4)
    os.kill(first.pid, signal.SIGTERM)
    until(lambda: first.said("Warm shutdown"))
    (folder / "go").touch()
    assert first.wait() == 0
    began = now_ms()
    worker("-P", "threads", "-c", "1", "-n", "second@here")
    until(lambda: {"n0", "n1", "n2"} <= set(words(folder)))
    assert now_ms() - began < 15_000  # the invisible time is 30 s
    assert sorted(words(folder)) == ["began-go", "ended-go", "n0", "n1", "n2"]


def test_tasks_of_later_wait_in_the_broker(app: Celery, folder: Path, worker) -> None:
    from tasks_of_tests import flaky, note

    worker("-P", "threads", "-c", "2")
    at = datetime.now(timezone(timedelta(hours=-7))) + timedelta(seconds=3)
    note.apply_async(("eta",), eta=at)
    sent = now_ms()
    note.apply_async(("countdown",), countdown=3)
    app.conf.timezone = "Asia/Tokyo"
    note.apply_async(("naive",), eta=datetime.now(UTC).replace(tzinfo=None) + timedelta(seconds=3))
    note.delay("now")
    until(lambda: words(folder) == ["now"])
    inspect = app.control.inspect(timeout=5, limit=1)
    (scheduled,) = inspect.scheduled().values()
    assert [each["request"]["args"] for each in scheduled] == [["naive"]]
    (reserved,) = inspect.reserved().values()
    assert [each["args"] for each in reserved] in ([], [["naive"]])
    until(lambda: len(notes(folder)) == 4)
    when = dict(notes(folder))
    assert 0 <= when["eta"] - at.timestamp() * 1000 < 1500
    assert 3000 <= when["countdown"] - sent < 4500
    assert 2900 <= when["naive"] - sent < 4500
    assert result(flaky.delay(2)) == 2
    tries = [at for text, at in notes(folder) if text.startswith("try-")]
    assert [text for text in words(folder) if text.startswith("try-")] == ["try-0", "try-1", "try-2"]
    assert all(later - earlier >= 500 for earlier, later in itertools.pairwise(tries))


def test_what_is_refused_is_a_dead_letter(app: Celery, folder: Path, server, worker) -> None:
    from tasks_of_tests import refused

    worker("-P", "solo")
    promise = refused.delay(False)
    until(lambda: "refused" in words(folder))
    group = topic_of("celery", virtual_host=app.connection().virtual_host)
    with Admin(nameserver=server.nameserver) as admin:
        until(lambda: f"%DLQ%{group}" in admin.topics.list())
        admin.dead_letters.open(group)
        (letter,) = until(lambda: admin.dead_letters.list(group))
        assert letter.message.keys == [promise.id]
        assert letter.message.properties["task"] == "tasks_of_tests.refused"
        until(lambda: admin.groups.lag(group) == 0)


def test_beat_sends_what_is_periodic(app: Celery, folder: Path, worker) -> None:
    worker("-P", "threads", "-c", "1", "-B")
    until(lambda: words(folder).count("tick") >= 3)


def test_workers_survive_a_broker_that_goes_and_comes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worker, app: Celery
) -> None:
    from tasks_of_tests import add, note

    server = ServerProcess(tmp_path / "fixed")
    server.start()
    try:
        url = f"mqframe://{server.nameserver}"
        app.conf.broker_url = url
        running = worker("-P", "threads", "-c", "1", TEST_BROKER_URL=url, TEST_RECONNECT_AFTER="0.5")
        assert result(add.delay(1, 1)) == 2
        server.end()
        until(lambda: running.said("Connection to broker lost") or running.said("Trying again"))
        server.start()
        until(lambda: running.log.read_text("utf-8").count("Connected to mqframe://") >= 2)
        note.delay("after")
        until(lambda: "after" in words(folder))
        assert running.stop() == 0
    finally:
        server.end()
