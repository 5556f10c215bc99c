from hypothesis import given
from hypothesis import strategies as st
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.times import duration, duration_ms, is_moment, moment_ms, timestamp

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)


@given(st.integers(0, 10**15))
def test_durations_survive(ms: int) -> None:
    made = duration(ms)
    assert duration_ms(made) == ms
    assert 0 <= made.nanos < 1_000_000_000


@given(INT64, INT32)
def test_any_duration_is_a_number_of_milliseconds(seconds: int, nanos: int) -> None:
    found = duration_ms(m.Duration(seconds=seconds, nanos=nanos))
    assert abs(found - seconds * 1000) <= 2148


@given(INT64)
def test_timestamps_are_such_that_all_clients_can_read(ms: int) -> None:
    made = timestamp(ms)
    assert -62_135_596_800 <= made.seconds <= 253_402_300_799
    assert 0 <= made.nanos < 1_000_000_000
    assert made.seconds * 1000 + made.nanos // 1_000_000 == (ms if is_moment(ms) else 0)


def test_moments_that_a_client_may_mean_are_from_1970_to_9999() -> None:
    assert moment_ms(m.Timestamp(seconds=1, nanos=2_999_999)) == 1002
    assert moment_ms(m.Timestamp(seconds=253_402_300_799, nanos=999_999_999)) == 253_402_300_799_999
    assert moment_ms(m.Timestamp(seconds=253_402_300_800)) is None
    assert moment_ms(m.Timestamp(seconds=1, nanos=-1)) is None
