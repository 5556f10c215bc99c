"""Hypothesis strategies that several tests share."""

from __future__ import annotations

from hypothesis import strategies as st

from mqframe.core.codes import LANGUAGES
from mqframe.core.wire.frame import Frame, HeaderForm

ints = st.integers(-(2**31), 2**31 - 1)
longs = st.integers(-(2**63), 2**63 - 1)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
names = st.text(st.sampled_from("abcXYZ019_-%|"), min_size=1, max_size=30)
property_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x01\x02"), max_size=20)
properties = st.dictionaries(property_text.filter(bool), property_text.filter(bool), max_size=6)
bodies = st.binary(max_size=300)
hosts = st.one_of(
    st.tuples(st.binary(min_size=4, max_size=4), st.integers(0, 65535)),
    st.tuples(st.binary(min_size=16, max_size=16), st.integers(0, 65535)),
).map(lambda host: host[0] + host[1].to_bytes(4, "big"))
"""Packed hosts, IPv4 and IPv6."""


@st.composite
def frames(draw: st.DrawFn, form: HeaderForm | None = None) -> Frame:
    """Frames that their header form can carry unchanged."""
    form = draw(st.sampled_from(HeaderForm)) if form is None else form
    binary = form is HeaderForm.ROCKETMQ
    ext = st.dictionaries(text, text, max_size=5)
    remark = text.filter(bool) if binary else text
    return Frame(
        code=draw(st.integers(-(2**15), 2**15 - 1) if binary else ints),
        opaque=draw(ints),
        flag=draw(st.integers(0, 3)),
        remark=draw(st.none() | remark),
        ext=draw(st.none() | (ext.filter(bool) if binary else ext)),
        body=draw(bodies),
        language=draw(st.sampled_from(LANGUAGES)),
        version=draw(st.integers(0, 2**15 - 1)),
        form=form,
    )
