from mqframe_transactions.client.local_states import LocalTransactionStates

from mqframe.core.sending.transaction_outcome import TransactionOutcome


def test_under_way_is_unknown_and_ended_is_remembered():
    known = LocalTransactionStates()
    assert known.find("a") is None
    known.begin("a")
    assert known.find("a") is TransactionOutcome.UNKNOWN
    known.end("a", TransactionOutcome.COMMIT)
    assert known.find("a") is TransactionOutcome.COMMIT
    known.begin("b")
    known.end("b", TransactionOutcome.UNKNOWN)
    assert known.find("b") is None, "the listener is asked"


def test_the_oldest_are_forgotten():
    known = LocalTransactionStates(remembered_max=2)
    for name in "abc":
        known.begin(name)
        known.end(name, TransactionOutcome.ROLLBACK)
    assert [known.find(name) for name in "abc"] == [None, *[TransactionOutcome.ROLLBACK] * 2]
