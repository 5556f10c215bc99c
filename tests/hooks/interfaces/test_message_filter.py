from __future__ import annotations

import pytest

from mqframe.hooks.interfaces import MessageFilter


@pytest.mark.parametrize("expression", [None, "", "colour = 'green'"])
def test_an_expression_may_match_any_tag_unless_a_filter_knows_better(expression: str | None) -> None:
    assert MessageFilter().codes(expression) is None


def test_a_filter_must_compile() -> None:
    with pytest.raises(NotImplementedError):
        MessageFilter().compile("colour = 'green'")
