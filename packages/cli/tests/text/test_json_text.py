"""JSON that terminals obey nothing of."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from mqframe_cli.text.json_text import printable_json

HARMFUL = [*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), "\u202e", "\u2028", "\u2066", "\ufeff"]


@given(st.text(alphabet=st.one_of(st.sampled_from(HARMFUL), st.characters(exclude_categories=["Cs"]))))
def test_json_keeps_its_value(text: str) -> None:
    shown = printable_json(json.dumps({"body": text}, ensure_ascii=False))
    assert json.loads(shown) == {"body": text}
    assert not set(shown).intersection(HARMFUL)
