"""What is true of every store: one effect a key, whoever comes twice, whenever, and whatever fails."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from mqframe_idempotence import InProgress
from mqframe_idempotence.counts import Counted
from stores_to_try import StoreKind, message

from mqframe.core.errors import RetryError


def named(kind: StoreKind, once: Any) -> Any:
    """A handler whose effect has the name of the message."""

    def handle(message: Any, effect: Any) -> str:
        effect(message.message_id)
        return "done"

    return kind.work(once, handle)


def test_a_message_that_comes_again_has_one_effect(kind: StoreKind) -> None:
    once = kind.once()
    handle = named(kind, once)
    assert handle(message("a")) == "done"
    assert handle(message("a", 7)) is None
    assert handle(message("b")) == "done"
    assert kind.names() == ["a", "b"]
    assert once.counts.snapshot() == Counted(effects=2, duplicates=1)


def test_a_failed_message_has_its_effect_when_it_comes_again(kind: StoreKind) -> None:
    once = kind.once()
    tries: list[str] = []

    def handle(message: Any, effect: Any) -> None:
        tries.append(message.message_id)
        if len(tries) == 1:
            if kind.in_transaction:
                effect("half")  # is taken back
            raise ValueError("not yet")
        effect("whole")

    work = kind.work(once, handle)
    with pytest.raises(ValueError, match="not yet"):
        work(message("a"))
    work(message("a"))
    work(message("a"))
    assert kind.names() == ["whole"]
    assert once.counts.snapshot() == Counted(effects=1, duplicates=1, failed=1)


def test_scopes_have_nothing_to_do_with_each_other(kind: StoreKind) -> None:
    billing, mailing = kind.once("billing"), kind.once("mailing")
    for once in (billing, mailing, billing):
        named(kind, once)(message("a"))
    assert kind.names() == ["a", "a"]


@pytest.mark.parametrize("key", ["x" * 5000, "ключ 🔑", "a'b\"c\\", "tab\tand\x00zero", "%s :v1 ? $1", " "])
def test_any_text_is_a_key(kind: StoreKind, key: str) -> None:
    once = kind.once(key=lambda message: key + message.message_id)
    handle = named(kind, once)
    for name in ("a", "a", "b", "b"):
        handle(message(name))
    assert kind.names() == ["a", "b"]


def test_case_and_trailing_blanks_make_other_keys(kind: StoreKind) -> None:
    once = kind.once(key=lambda message: message.body.decode())
    handle = named(kind, once)
    for key in ("order", "Order", "order ", "order"):
        handle(message(key))
    assert kind.names() == ["Order", "order", "order "]


def test_a_duplicate_beside_the_first_waits_or_comes_later(kind: StoreKind) -> None:
    """It is answered as a duplicate only after the first succeeded."""
    once = kind.once()
    inside, go_on = threading.Event(), threading.Event()

    def handle(message: Any, effect: Any) -> None:
        effect("one")
        inside.set()
        assert go_on.wait(30)

    work = kind.work(once, handle)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(work, message("a"))
        assert inside.wait(30)
        second = pool.submit(work, message("a"))
        if not kind.in_transaction:
            with pytest.raises(InProgress):
                second.result(30)
            assert once.counts.snapshot().in_progress == 1
        go_on.set()
        first.result(30)
        if kind.in_transaction:
            assert second.result(30) is None
    assert work(message("a")) is None
    assert kind.names() == ["one"]


def test_a_duplicate_beside_one_that_fails_has_the_effect(kind: StoreKind) -> None:
    once = kind.once()
    inside, go_on = threading.Event(), threading.Event()

    def handle(message: Any, effect: Any) -> None:
        if message.queue_offset == 0:
            inside.set()
            assert go_on.wait(30)
            raise ValueError("failed")
        effect(f"by {message.queue_offset}")

    work = kind.work(once, handle)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(work, message("a"))
        assert inside.wait(30)
        second = pool.submit(work, message("a", 1)) if kind.in_transaction else None
        go_on.set()
        with pytest.raises(ValueError, match="failed"):
            first.result(30)
        if second is None:
            work(message("a", 1))
        else:
            second.result(30)
    assert kind.names() == ["by 1"]


def test_many_threads_with_few_keys_have_one_effect_each(kind: StoreKind) -> None:
    once = kind.once()
    handle = named(kind, once)

    def patient(number: int) -> None:
        for _ in range(200):
            try:
                handle(message(f"k{number % 5}", number))
            except RetryError:
                continue
            return
        pytest.fail("put off 200 times")

    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(patient, number) for number in range(40)]:
            done.result(60)
    assert kind.names() == ["k0", "k1", "k2", "k3", "k4"]
    assert once.counts.snapshot().effects == 5
    assert once.counts.snapshot().duplicates == 35
