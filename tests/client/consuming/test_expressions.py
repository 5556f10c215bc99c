"""Expressions are read before a broker is asked."""

from __future__ import annotations

import pytest

from mqframe.client.consuming.expressions import check_expression
from mqframe.core.errors import FixError
from mqframe.core.filtering.filter_expression import Sql, filter_of


def test_what_follows_a_complete_expression_is_refused_with_its_place() -> None:
    for _ in range(2):
        with pytest.raises(FixError, match="character 13: 'region' stands behind"):
            check_expression(filter_of(Sql("amount > 10 region = 'north'")))


@pytest.mark.parametrize("expression", ["*", "a || b", Sql("amount > 10")])
def test_what_is_one_passes(expression: str | Sql) -> None:
    check_expression(filter_of(expression))
