from mqframe_spark import pull_window
from mqframe_spark.pull_window import PULL_MESSAGES, PULLS_MAX, PullWindow


def window(*learned: tuple[list[int], int], predictable: bool = True) -> PullWindow:
    made = PullWindow(predictable=predictable)
    offset = 0
    for counts, size in learned:
        asked = made.asked(offset, 1 << 40)
        made.learn(asked, counts, size)
        offset += sum(counts)
    return made


def test_the_first_pull_is_alone_and_asks_for_no_more_than_is_wanted() -> None:
    assert window().asked(7, 1 << 40) == [(7, PULL_MESSAGES)]
    assert window().asked(7, 10) == [(7, 3)]


def test_what_one_answer_had_is_what_the_next_are_expected_to_have() -> None:
    made = window(([32], 32 * 200))
    asked = made.asked(32, 1 << 40)
    assert asked[:2] == [(32, 32), (64, 32)]
    assert asked[-1] == (32 * PULLS_MAX, PULL_MESSAGES)
    assert len(asked) == PULLS_MAX


def test_as_many_as_make_up_the_bytes_of_a_window() -> None:
    assert len(window(([32], pull_window.WINDOW_BYTES // 4)).asked(32, 1 << 40)) == 4
    assert len(window(([32], pull_window.WINDOW_BYTES * 2)).asked(32, 1 << 40)) == 1


def test_nothing_is_asked_behind_the_end() -> None:
    made = window(([10], 1000))
    assert made.asked(10, 35) == [(10, 10), (20, 10), (30, 5)]
    assert made.asked(10, 30) == [(10, 10), (20, 10)]
    assert made.asked(10, 11) == [(10, 1)]


def test_a_short_answer_lowers_what_is_expected_and_a_long_last_one_raises_it() -> None:
    made = window(([32], 3200), ([8], 800))
    assert made.asked(40, 1 << 40)[:2] == [(40, 8), (48, 8)]
    asked = made.asked(40, 1 << 40)
    made.learn(asked, [8] * (len(asked) - 1) + [32], 100 * (8 * len(asked) + 24))
    assert made.asked(900, 1 << 40)[:2] == [(900, 32), (932, 32)]


def test_answers_that_bytes_end_are_expected_somewhat_smaller() -> None:
    made = window(([3200], 100_000))
    assert made.asked(3200, 1 << 40)[:2] == [(3200, 3000), (6200, 3000)]
    made = window(([PULL_MESSAGES], 100_000))
    assert made.asked(0, 1 << 40)[:2] == [(0, 3840), (3840, 3840)]


def test_an_empty_answer_and_the_end_of_a_span_teach_nothing() -> None:
    made = window(([32], 3200), ([0], 0))
    assert made.asked(32, 1 << 40)[:2] == [(32, 32), (64, 32)]
    made.learn([(64, 5)], [5], 500)
    assert made.asked(69, 1 << 40)[:2] == [(69, 32), (101, 32)]


def test_filtered_answers_cannot_be_predicted() -> None:
    made = window(([32], 3200), predictable=False)
    assert made.asked(40, 41) == [(40, PULL_MESSAGES)]
