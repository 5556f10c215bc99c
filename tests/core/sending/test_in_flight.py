from mqframe.core.sending.in_flight import InFlightCount


def test_count_and_bytes_are_limits():
    in_flight = InFlightCount(2, 100)
    assert in_flight.acquire(60)
    assert not in_flight.acquire(41)
    assert in_flight.acquire(40)
    assert not in_flight.acquire(0)
    in_flight.release(60)
    assert in_flight.acquire(60)
    in_flight.release(100, 2)
    assert (in_flight.count, in_flight.bytes) == (0, 0)


def test_something_larger_than_the_limit_goes_alone():
    in_flight = InFlightCount(2, 100)
    assert in_flight.acquire(500)
    assert not in_flight.acquire(1)
    in_flight.release(500)
    assert in_flight.acquire(1)
    assert not in_flight.acquire(500)
