"""The window against a model that keeps everything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from mqframe_deduplication.window import First, Window, identity

KEYS = st.sampled_from([identity("orders", "", key) for key in "abcdefgh"])
SENDS = st.lists(st.tuples(KEYS, st.integers(0, 700)), max_size=60)


def first(number: int, stored_ms: int) -> First:
    return First(number * 100, 100, number % 4, number, stored_ms, f"id-{number}")


def send_all(window: Window, sends: list[tuple[object, int]]) -> list[tuple[object, First]]:
    """Send keys, each so many ms after the one before, as a broker does; what was stored."""
    now, log = 0, []
    for key, wait in sends:
        now += wait
        if window.find(key, now) is None:  # type: ignore[arg-type]
            stored = first(len(log), now)
            window.note(key, stored)  # type: ignore[arg-type]
            log.append((key, stored))
    return log


@given(SENDS, st.integers(1, 2000), st.integers(1, 6))
def test_a_key_is_known_by_its_latest_first_result_while_time_and_count_allow(
    sends: list[tuple[object, int]], window_ms: int, keys_max: int
) -> None:
    window = Window(window_ms, keys_max)
    log = send_all(window, sends)
    now = sum(wait for _, wait in sends)
    latest = dict(log)
    young = [pair for pair in log if latest[pair[0]] is pair[1]][-keys_max:]
    wanted = {key: stored for key, stored in young if now - stored.stored_ms < window_ms}
    for key in {key for key, _ in sends}:
        assert window.find(key, now) == wanted.get(key)  # type: ignore[arg-type]
    assert len(window) <= keys_max


@given(SENDS, st.integers(1, 2000), st.integers(1, 6), st.integers(0, 3000))
def test_the_log_from_the_oldest_remembered_record_on_gives_the_same_window(
    sends: list[tuple[object, int]], window_ms: int, keys_max: int, later: int
) -> None:
    window = Window(window_ms, keys_max)
    log = send_all(window, sends)
    start = window.oldest_offset
    again = Window(window_ms, keys_max)
    for key, stored in log:
        if start is not None and stored.commit_log_offset >= start:
            again.note(key, stored)  # type: ignore[arg-type]
    now = sum(wait for _, wait in sends) + later
    for key in {key for key, _ in sends}:
        assert again.find(key, now) == window.find(key, now)  # type: ignore[arg-type]


def test_a_key_is_known_until_its_time_is_over_and_a_resend_does_not_prolong_that() -> None:
    window, key = Window(1000, 10), identity("orders", "", "k")
    window.note(key, first(1, 5000))
    window.note(key, first(2, 5999))
    assert window.find(key, 5999) == first(1, 5000)
    assert window.find(key, 6000) is None
    window.note(key, first(3, 6000))
    assert window.find(key, 6999) == first(3, 6000)


def test_time_that_is_set_back_forgets_nothing() -> None:
    window, key = Window(1000, 10), identity("orders", "", "k")
    window.note(key, first(1, 5000))
    assert window.find(key, 100) == first(1, 5000)


def test_what_is_over_is_let_go_of() -> None:
    window = Window(1000, 10)
    for number in range(5):
        window.note(identity("orders", "", str(number)), first(number, number * 300))
    window.expire(1500)
    assert (len(window), window.oldest_offset) == (3, 200)
    window.expire(9999)
    assert (len(window), window.oldest_offset) == (0, None)


def test_long_keys_take_no_more_memory_than_short_ones_and_stay_apart() -> None:
    long = identity("orders", "", "k" * 30_000)
    assert len(long.key) == 33
    assert long == identity("orders", "", "k" * 30_000)
    assert long != identity("orders", "", "k" * 30_001)
    assert identity("orders", "", long.key.replace("\x01", "")) != long


def test_topics_and_groups_keep_their_keys_apart() -> None:
    window = Window(1000, 10)
    window.note(identity("orders", "shop", "k"), first(1, 0))
    assert window.find(identity("orders", "web", "k"), 0) is None
    assert window.find(identity("bills", "shop", "k"), 0) is None
    assert window.find(identity("orders", "shop", "k"), 0) == first(1, 0)
