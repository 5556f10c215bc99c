"""Whatever frames the native layout takes are stored and answered as by Python, byte for byte."""

from __future__ import annotations

import json
from typing import Any

from drawn import SLOWLY, sends
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.messages.addresses import encode_host
from mqframe.core.wire.frame import Frame, HeaderForm, encode_frame


def raw_of(reference: Any, frame: Frame, *, ascii_only: bool) -> bytes:
    """`frame` as bytes; JSON as Java or as Python writes it."""
    if frame.form is not HeaderForm.JSON or not ascii_only:
        return encode_frame(frame)
    header: dict[str, Any] = {
        "extFields": frame.ext,
        "opaque": frame.opaque,
        "flag": frame.flag,
        "code": frame.code,
        "language": "OTHER",
        "remark": None,
    }
    return bytes(reference.framed(json.dumps(header, separators=(",", ":")).encode(), bytes(frame.body)))


BOUND = frozenset('"\\\x01\x02')
"""Characters that JSON has with escapes only."""


@SLOWLY
@given(
    st.lists(sends(), min_size=1, max_size=8),
    st.sampled_from([encode_host("10.0.0.9:40000"), encode_host("[fe80::1]:40000")]),
)
def test_ordinary_sends_are_taken_and_stored_as_by_python(
    reference: Any, made: list[dict[str, Any]], born: bytes
) -> None:
    """Records, entries, keys, counts and answers of all frames of a read are those of Python."""
    frames = [reference.send(**each) for each in made]
    data = b"xyz" + b"".join(map(encode_frame, frames)) + b"\0\0\0\x50"
    laid = reference.lay(data, start=3, born=born)
    assert laid.count == len(frames)
    assert (laid.stopped, laid.unknown) == (len(data) - 4, None)
    reference.check(data, laid, start=3, born=born)


@SLOWLY
@given(st.lists(sends(odd=True), min_size=1, max_size=4), st.booleans())
def test_odd_properties_are_left_or_stored_as_by_python(
    reference: Any, made: list[dict[str, Any]], ascii_only: bool
) -> None:
    """Whatever names and values properties have, in whatever order."""
    data = b"".join(raw_of(reference, reference.send(**each), ascii_only=ascii_only) for each in made)
    laid = reference.lay(data)
    if laid is not None:
        reference.check(data, laid)


@SLOWLY
@given(st.data(), sends())
def test_damaged_headers_are_left_or_read_as_by_python(
    reference: Any, data: st.DataObject, made: dict[str, Any]
) -> None:
    """Bytes changed, put in or taken out of a header: what is taken still says the same to Python."""
    frame = reference.send(**made)
    header = bytearray(reference.header_of(frame))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(header) - 1))
        piece = data.draw(
            st.sampled_from([b"", b'"', b"\\", b"0", b"1", b",", b" ", b"\x02", b"\xc3", b"-", b"a"])
        )
        header[at : at + data.draw(st.integers(0, 2))] = piece
    raw = reference.framed(bytes(header), bytes(frame.body), frame.form)
    laid = reference.lay(raw)
    if laid is not None and laid.count:
        reference.check(raw, laid)


@SLOWLY
@given(st.data(), sends())
def test_json_by_hand_is_left_or_read_as_by_python(
    reference: Any, data: st.DataObject, made: dict[str, Any]
) -> None:
    """JSON by hand: escapes, white space, names that come twice, odd numbers, more members."""
    frame = reference.send(**made | {"form": HeaderForm.JSON})
    assert frame.ext is not None

    def text(value: str) -> str:
        if "\x01" not in value and data.draw(st.integers(0, 99)):
            return json.dumps(value, ensure_ascii=False)
        plainly = data.draw(
            st.frozensets(st.sampled_from(sorted(set(value)))) if value else st.just(frozenset())
        )
        return '"' + "".join(each if each in plainly - BOUND else escaped(each) for each in value) + '"'

    def escaped(character: str) -> str:
        short = json.dumps(character)[1:-1]
        if len(short) == 2 and data.draw(st.booleans()):
            return short
        units = character.encode("utf-16-be")
        return "".join(f"\\u{units[at]:02x}{units[at + 1]:02X}" for at in range(0, len(units), 2))

    def odd(usual: str, *others: str) -> str:
        return usual if data.draw(st.integers(0, 39)) else data.draw(st.sampled_from(others))

    pairs = list(frame.ext.items())
    if not data.draw(st.integers(0, 9)):
        pairs.append(data.draw(st.sampled_from([*pairs, ("x", "1"), ("queueId", "2"), ("e", "2")])))
    ext = ",".join(f"{text(name)}{odd(':', ' :', ': ')}{text(value)}" for name, value in pairs)
    members = [
        f'"code":{odd(str(frame.code), "10.0", "010", "1e1", "99999999999999999999")}',
        f'"opaque":{odd(str(frame.opaque), "-0", "0.5", "null", "2147483648")}',
        f'"flag":{odd(str(frame.flag), "1", "3", "null", "true")}',
        f'"language":{odd(text("JAVA"), "null", "7")}',
        f'"extFields":{{{ext}}}',
        odd('"version":1', '"version":1.5', '"other":[1]', '"remark":"x"', '"remark":null', '"opaque":3'),
    ]
    raw = reference.framed(f"{{{','.join(data.draw(st.permutations(members)))}}}".encode(), bytes(frame.body))
    laid = reference.lay(raw)
    if laid is not None and laid.count:
        reference.check(raw, laid)
