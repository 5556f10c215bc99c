"""How often secrets may be guessed."""

from __future__ import annotations

from mqframe_dashboard.changes.attempts import ADDRESS_MAX, SECONDS, TOTAL_MAX, Attempts


class Clock:
    """Monotonic seconds that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_address_may_fail_a_few_times_in_a_while():
    clock = Clock()
    attempts = Attempts(clock)
    for _ in range(ADDRESS_MAX):
        assert attempts.begin("a") == 0
        clock.now += 1
    assert attempts.begin("a") == SECONDS - ADDRESS_MAX
    assert attempts.begin("b") == 0
    clock.now = SECONDS - 0.5
    assert attempts.begin("a") == 1
    clock.now = SECONDS
    assert attempts.begin("a") == 0
    assert attempts.begin("a") == 1


def test_what_was_no_failure_does_not_count():
    attempts = Attempts(Clock())
    for _ in range(3 * ADDRESS_MAX):
        assert attempts.begin("a") == 0
        attempts.forgive("a")
    attempts.forgive("a")
    attempts.begin("b")
    attempts.forgive("a")
    assert [attempts.begin("b") for _ in range(ADDRESS_MAX)] == [0] * (ADDRESS_MAX - 1) + [SECONDS]


def test_all_addresses_together_may_not_fail_too_often():
    clock = Clock()
    attempts = Attempts(clock)
    for number in range(TOTAL_MAX):
        assert attempts.begin(str(number)) == 0
    assert attempts.begin("another") == SECONDS
    clock.now = SECONDS
    assert attempts.begin("another") == 0
