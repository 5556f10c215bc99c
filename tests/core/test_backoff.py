import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.backoff import backoff_seconds


@pytest.mark.parametrize(("tries", "seconds"), [(1, 1.0), (2, 1.6), (3, 2.56), (4, 4.096), (30, 120.0)])
def test_without_jitter(tries, seconds):
    assert backoff_seconds(tries, lambda: 0.5) == pytest.approx(seconds)


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_jitter_is_a_fifth_and_the_cap_holds(tries, random):
    plain = backoff_seconds(tries, lambda: 0.5)
    found = backoff_seconds(tries, lambda: random)
    assert found <= 120
    assert found <= plain * 1.2 + 1e-9
    assert found >= min(plain * 0.8, 120 * 0.8) - 1e-9
