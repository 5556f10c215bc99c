"""Each promise of an elected group is seen to be broken where it is, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from elected.promises import (
    Acknowledged,
    Broken,
    Forward,
    Log,
    Promises,
    Readable,
    Seen,
    an_epoch_has_one_leader,
    confirmed_logs_agree,
    sends_are_acknowledged_at_one_place,
    what_was_acknowledged_is_there,
    what_was_seen_stays,
)

BODIES = [b"<%d>" % number for number in range(6)]
DATA = b"".join(b"head" + body + b"tail" for body in BODIES)
QUEUE = ("t", 0)


def end_of(body: bytes, data: bytes = DATA, base: int = 0) -> int:
    return base + data.index(body) + len(body)


def sends(base: int = 0) -> list[Acknowledged]:
    """Three of epoch 1 by one, three of epoch 2 by two."""
    return [
        Acknowledged(body, end_of(body, base=base), 1 + number // 3, ("one", "two")[number // 3])
        for number, body in enumerate(BODIES)
    ]


def broken(text: str) -> Any:
    return pytest.raises(Broken, match=re.escape(text))


# What was acknowledged


def test_all_sends_at_their_places_are_well() -> None:
    what_was_acknowledged_is_there(sends(), 2, Log(0, DATA))
    what_was_acknowledged_is_there(sends(1000), 2, Log(1000, DATA))


def test_a_send_that_a_later_leader_lacks_is_lost() -> None:
    lacking = DATA.replace(b"<1>", b"???")
    with broken("b'<1>', which one acknowledged in epoch 1, is not in the log of the leader of epoch 2"):
        what_was_acknowledged_is_there(sends(), 2, Log(0, lacking))


def test_a_send_beyond_the_end_of_a_later_leader_is_lost() -> None:
    with broken("b'<5>', which two acknowledged in epoch 2, is not in the log of the leader of epoch 3"):
        what_was_acknowledged_is_there(sends(), 3, Log(0, DATA[: end_of(BODIES[4])]))


def test_a_send_at_another_place_than_was_told_has_moved() -> None:
    with broken("b'<0>', which one acknowledged in epoch 1, is at 9, not at 7"):
        what_was_acknowledged_is_there(sends(), 2, Log(0, b"__" + DATA))


def test_a_send_that_is_there_twice_was_doubled_unless_it_was_sent_twice() -> None:
    doubled = Log(0, DATA + b"head<2>tail")
    with broken("b'<2>', which one acknowledged in epoch 1, was sent 1 times, and is at [29, 73]"):
        what_was_acknowledged_is_there(sends(), 2, doubled)
    what_was_acknowledged_is_there([each._replace(tries=2) for each in sends()], 2, doubled)


def test_a_leader_that_was_replaced_need_not_have_what_its_successor_acknowledged() -> None:
    what_was_acknowledged_is_there(sends(), 1, Log(0, DATA[: end_of(BODIES[2])]))


def test_what_was_cleaned_up_need_not_be_there() -> None:
    start = DATA.index(b"<2>") + 3
    what_was_acknowledged_is_there(sends(), 2, Log(start, DATA[start:]))
    with broken("b'<3>'"):
        what_was_acknowledged_is_there(sends(), 2, Log(start, b"x" * (len(DATA) - start)))


def test_two_places_told_for_one_send_are_seen() -> None:
    first = Acknowledged(b"<0>", 10, 1, "one")
    sends_are_acknowledged_at_one_place([first, first, *sends()[1:]])
    with broken("b'<0>' was sent 1 times, acknowledged at [10, 20]"):
        sends_are_acknowledged_at_one_place([first, first._replace(end=20)])
    sends_are_acknowledged_at_one_place([first._replace(tries=2), first._replace(end=20, tries=2)])


def test_one_place_told_for_two_sends_is_seen() -> None:
    with broken("b'<0>' and b'<1>' were both acknowledged at 10"):
        sends_are_acknowledged_at_one_place(
            [Acknowledged(b"<0>", 10, 1, "one"), Acknowledged(b"<1>", 10, 2, "two")]
        )


# Leaders


def test_one_leader_an_epoch_is_well_and_may_lead_many() -> None:
    an_epoch_has_one_leader([(1, "one"), (2, "two"), (1, "one"), (3, "one")])


def test_two_leaders_of_one_epoch_are_seen_in_whatever_order() -> None:
    with broken("two and one both acknowledged in epoch 2"):
        an_epoch_has_one_leader([(1, "one"), (2, "two"), (3, "one"), (2, "one")])


# Logs


def test_logs_may_differ_where_one_of_both_calls_nothing_confirmed() -> None:
    confirmed_logs_agree(
        {
            "one": Log(0, b"aaaaXX", 6),
            "two": Log(0, b"aaaaYYYY", 4),
            "three": Log(2, b"aa", 4),
            "four": Log(100, b"", 0),
        }
    )


@pytest.mark.parametrize("confirmed", [5, 6])
def test_logs_that_differ_below_what_both_call_confirmed_are_seen(confirmed: int) -> None:
    with broken(f"the logs of one and two differ at 4, below {confirmed}, confirmed"):
        confirmed_logs_agree({"one": Log(0, b"aaaaXX", 6), "two": Log(2, b"aaYYYY", confirmed)})


def test_a_member_that_confirms_more_than_it_has_is_seen() -> None:
    confirmed_logs_agree({"one": Log(10, b"abc", 13)})
    with broken("one tells that 14 is confirmed, and its log ends at 13"):
        confirmed_logs_agree({"one": Log(10, b"abc", 14)})


# Readers


def test_what_was_seen_and_is_there_or_was_cleaned_up_is_well() -> None:
    seen = [Seen(QUEUE, number, body) for number, body in enumerate(BODIES)]
    what_was_seen_stays(seen, {QUEUE: Readable(0, BODIES)})
    what_was_seen_stays(seen, {QUEUE: Readable(4, BODIES[4:])})


@pytest.mark.parametrize(
    ("queues", "told"),
    [
        ({QUEUE: Readable(0, BODIES[:5])}, "b'<5>' was read at t:0, 5, and is gone"),
        ({}, "b'<0>' was read at t:0, 0, and is gone"),
        (
            {QUEUE: Readable(0, [*BODIES[:3], b"other", *BODIES[4:]])},
            "b'<3>' was read at t:0, 3, where b'other' is now",
        ),
        ({QUEUE: Readable(4, BODIES[5:])}, "b'<4>' was read at t:0, 4, where b'<5>' is now"),
    ],
)
def test_what_was_seen_and_is_gone_or_changed_is_seen(queues: dict[Any, Readable], told: str) -> None:
    with broken(told):
        what_was_seen_stays([Seen(QUEUE, number, body) for number, body in enumerate(BODIES)], queues)


# Numbers


def test_numbers_grow_or_stay_each_for_itself() -> None:
    forward = Forward()
    for what, value in (("a", 3), ("b", 1), ("a", 3), ("b", 2), ("a", 7)):
        forward.note(what, value)
    with broken("a went back from 7 to 6"):
        forward.note("a", 6)
    forward.forget("a")
    forward.note("a", 0)


# A whole run


def run() -> Promises:
    """A run without a fault, up to the leader of epoch 2."""
    promises = Promises()
    for send in sends():
        promises.acknowledged(send)
    for number, body in enumerate(BODIES):
        promises.saw("reader", Seen(QUEUE, number, body))
        promises.saw("other reader", Seen(QUEUE, number, body))
    promises.committed("g", QUEUE, 4)
    promises.told("one", 0, 10)
    promises.told("one", 0, 20)
    promises.told("one", 1, 5)
    promises.members_are({"one": Log(0, DATA, len(DATA)), "two": Log(0, DATA[:20], 20)})
    return promises


FINE: dict[str, Any] = {
    "epoch": 2,
    "log": Log(0, DATA),
    "queues": {QUEUE: Readable(0, BODIES)},
    "committed": {("g", QUEUE): 4},
}


def test_a_run_without_a_fault_is_well() -> None:
    run().leader_is(**FINE)
    run().leader_is(**FINE | {"committed": {("g", QUEUE): 5}})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"log": Log(0, DATA[:-20])}, "is not in the log of the leader of epoch 2"),
        ({"queues": {QUEUE: Readable(0, BODIES[:2])}}, "b'<2>' was read at t:0, 2, and is gone"),
        ({"committed": {("g", QUEUE): 3}}, "g committed 4 of t:0, and is at 3 again"),
        ({"committed": {}}, "g committed 4 of t:0, and is at 0 again"),
    ],
)
def test_a_leader_that_lost_something_is_seen(change: dict[str, Any], told: str) -> None:
    with broken(told):
        run().leader_is(**FINE | change)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (
            lambda promises: promises.acknowledged(Acknowledged(b"<9>", 900, 1, "two")),
            "one and two both acknowledged in epoch 1",
        ),
        (
            lambda promises: promises.told("one", 0, 19),
            "the confirmed offset of one in life 0 went back from 20 to 19",
        ),
        (
            lambda promises: promises.saw("late reader", Seen(QUEUE, 2, b"other")),
            "late reader read b'other' at t:0, 2, where b'<2>' was read",
        ),
        (
            lambda promises: promises.members_are({"one": Log(0, b"ab", 2), "two": Log(0, b"aX", 2)}),
            "the logs of one and two differ at 1, below 2",
        ),
        (
            lambda promises: (
                promises.acknowledged(Acknowledged(b"<5>", 900, 2, "two")),
                promises.leader_is(**FINE),
            ),
            "b'<5>' was sent 1 times, acknowledged at [62, 900]",
        ),
    ],
)
def test_a_fault_in_the_middle_of_a_run_is_seen_at_once(
    fault: Callable[[Promises], object], told: str
) -> None:
    promises = run()
    with broken(told):
        fault(promises)
