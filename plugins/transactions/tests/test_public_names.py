"""The names that the distribution has, and what each of its parts loads."""

from __future__ import annotations

import subprocess
import sys

import mqframe_transactions
import pytest

import mqframe
from mqframe.hooks.known_distributions import KNOWN_NAMES
from mqframe.hooks.names import load_name


def test_each_name_is_there() -> None:
    for name in mqframe_transactions.__dir__():
        assert getattr(mqframe_transactions, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Transactions'"):
        _ = mqframe_transactions.Transactions


def test_what_mqframe_has_of_it_is_the_same() -> None:
    names = [name for name, brings in KNOWN_NAMES.items() if brings == "mqframe-plugin-transactions"]
    assert set(names) < set(mqframe_transactions.__dir__())
    assert len(names) == 13
    for name in names:
        assert load_name(name) is getattr(mqframe, name) is getattr(mqframe_transactions, name)


@pytest.mark.parametrize(
    ("names", "others"),
    [
        ("TransactionService TransactionSettings", "mqframe_transactions.client"),
        ("TransactionProducer AsyncTransactionProducer PreparedHalf", "mqframe_transactions.broker"),
    ],
)
def test_each_part_loads_nothing_of_the_other(names: str, others: str) -> None:
    code = f"import sys\nfrom mqframe_transactions import {', '.join(names.split())}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "mqframe_transactions.rules.half_batch" in loaded
    assert [name for name in loaded if f"{name}.".startswith(f"{others}.")] == []
