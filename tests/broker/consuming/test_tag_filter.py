"""Tags as an expression: by whole tag, and by their hash codes."""

from __future__ import annotations

import pytest

from mqframe.broker.consuming.tag_filter import TagFilter
from mqframe.core.errors import Refusal
from mqframe.core.messages.java_hash import java_hash


@pytest.mark.parametrize("expression", ["*", ""])
def test_everything(expression):
    assert TagFilter().codes(expression) is None
    matches = TagFilter().compile(expression)
    assert (matches({"TAGS": "x"}), matches({})) == (True, True)


def test_one_of_several_whole_tags():
    matches = TagFilter().compile(" paid ||refunded")
    assert [matches({"TAGS": tag}) for tag in ("paid", "refunded", "pai", "paid || refunded", "")] == [
        True, True, False, False, False,
    ]  # fmt: skip
    assert not matches({"KEYS": "paid"})
    assert TagFilter().codes(" paid ||refunded") == {java_hash("paid"), java_hash("refunded")}


def test_tags_of_one_hash_code_are_told_apart():
    assert java_hash("Aa") == java_hash("BB")
    matches = TagFilter().compile("Aa")
    assert (matches({"TAGS": "Aa"}), matches({"TAGS": "BB"})) == (True, False)


@pytest.mark.parametrize("expression", ["||", " || "])
def test_text_without_a_tag_is_refused(expression):
    for ask in (TagFilter().codes, TagFilter().compile):
        with pytest.raises(Refusal) as caught:
            ask(expression)
        assert caught.value.code == 23
