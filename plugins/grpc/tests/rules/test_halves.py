from __future__ import annotations

from mqframe_grpc.rules.halves import HalfPlace, OpenHalves


def test_the_newest_place_counts_until_the_transaction_ends() -> None:
    halves = OpenHalves()
    halves.stored("t", "1", HalfPlace("a", 0, 100))
    halves.stored("t", "1", HalfPlace("a", 7, 900))
    assert halves.find("t", "1") == HalfPlace("a", 7, 900)
    assert halves.find("u", "1") is None
    halves.ended("t", "1")
    halves.ended("t", "1")
    assert (halves.find("t", "1"), len(halves)) == (None, 0)


def test_the_oldest_are_forgotten() -> None:
    halves = OpenHalves(2)
    for number in range(3):
        halves.stored("t", str(number), HalfPlace("a", number, number))
    halves.stored("t", "1", HalfPlace("a", 9, 9))
    halves.stored("t", "3", HalfPlace("a", 3, 3))
    assert [name for name in "0123" if halves.find("t", name)] == ["1", "3"]
