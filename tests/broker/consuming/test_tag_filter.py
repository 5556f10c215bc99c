"""Tags as an expression: by whole tag, and by their hash codes."""

from __future__ import annotations

import pytest

from mqframe.broker.consuming.tag_filter import TagExpressions
from mqframe.core.errors import Refusal
from mqframe.core.messages.java_hash import java_hash


@pytest.mark.parametrize("expression", ["*", ""])
def test_everything(expression):
    assert TagExpressions().codes(expression) is None
    matches = TagExpressions().compile(expression)
    assert (matches({"TAGS": "x"}), matches({})) == (True, True)


def test_one_of_several_whole_tags():
    matches = TagExpressions().compile(" paid ||refunded")
    assert [matches({"TAGS": tag}) for tag in ("paid", "refunded", "pai", "paid || refunded", "")] == [
        True, True, False, False, False,
    ]  # fmt: skip
    assert not matches({"KEYS": "paid"})
    assert TagExpressions().codes(" paid ||refunded") == {java_hash("paid"), java_hash("refunded")}


def test_tags_of_one_hash_code_are_told_apart():
    assert java_hash("Aa") == java_hash("BB")
    matches = TagExpressions().compile("Aa")
    assert (matches({"TAGS": "Aa"}), matches({"TAGS": "BB"})) == (True, False)


@pytest.mark.parametrize("expression", ["||", " || "])
def test_text_without_a_tag_is_refused(expression):
    for ask in (TagExpressions().codes, TagExpressions().compile):
        with pytest.raises(Refusal) as caught:
            ask(expression)
        assert caught.value.code == 23
