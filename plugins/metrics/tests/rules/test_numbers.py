from mqframe_metrics.rules.numbers import budget_families, number_family

COUNTERS = {
    "budget.halfFrames.used": "3",
    "budget.halfFrames.max": "9",
    "budget.halfFrames.refused": "1",
    "budget.connections.closedIdle": "4",
    "ordersArrived": "2",
    "leftOut.01": "words for people",
}


def test_budgets_become_metrics_of_their_own():
    found = {family.name: family.series for family in budget_families(COUNTERS)}
    assert found == {
        "mqframe_budget_used": [(("half_frames",), 3.0)],
        "mqframe_budget_max": [(("half_frames",), 9.0)],
        "mqframe_budget_refused_total": [(("half_frames",), 1.0)],
        "mqframe_budget_made_room_total": [(("connections",), 4.0)],
    }


def test_other_numbers_keep_their_names_and_words_are_left_out():
    assert number_family(COUNTERS).series == [(("ordersArrived",), 2.0)]
