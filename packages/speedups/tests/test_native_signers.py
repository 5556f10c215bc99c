"""Signatures as compiled code sees them: right where Python's are, and never where these are not."""

from __future__ import annotations

import hmac
import struct
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_acl.signature import Signer
from mqframe_speedups._native import PullReader, Signers
from signed import frame_of, signed
from twins import pull

USER, SECRET = "shop", "secret"
OWN = frozenset({"AccessKey", "Signature", "_UNIQUE_KEY_QUERY", *(frame_of(pull(1, 2)).ext or {})})
OTHER = list(b'"a0,:\\{}AS=Z9')
PLAIN = st.text(st.characters(exclude_characters='"\\\x7f', exclude_categories=("Cc", "Cs")), max_size=20)


def takes(raw: bytes, **users: bytes | None) -> bool:
    """Whether a pull is taken where these users sign with these keys."""
    signers = Signers()
    for name, key in (users or {USER: SECRET.encode()}).items():
        signers.know(name, key)
    found = PullReader().read(raw, 0, signers)
    assert signers.barred is (found is None and signers.asked() is None and is_compared(raw))
    return found is not None


def is_compared(raw: bytes) -> bool:
    """Whether the request brings what is needed for a look at its signature."""
    return {"AccessKey", "Signature"} <= (frame_of(raw).ext or {}).keys()


@given(st.dictionaries(PLAIN.filter(lambda name: name not in OWN), PLAIN, max_size=15), st.text(max_size=20))
def test_any_plain_header_that_is_signed_is_taken(more: dict[str, str], secret: str) -> None:
    raw = signed(pull(1, 2), USER, "x" + secret.strip(), **more)
    assert takes(raw, shop=("x" + secret.strip()).encode("utf-8", "replace"))
    assert not takes(raw, shop=None)


@given(st.data())
def test_what_was_changed_is_taken_only_where_python_takes_it(data: st.DataObject) -> None:
    raw = signed(pull(1, 2), zz="more", é="鍵")
    header = bytearray(raw[8:])
    for _ in range(data.draw(st.integers(1, 2))):
        header[data.draw(st.integers(0, len(header) - 1))] = data.draw(st.sampled_from(OTHER))
    changed = struct.pack(">II", len(header) + 4, len(header)) + bytes(header)
    signers = Signers()
    signers.know(USER, SECRET.encode())
    if PullReader().read(changed, 0, signers) is not None:
        frame = frame_of(changed)
        assert (frame.ext or {})["AccessKey"] == USER
        assert Signer(SECRET).fits(frame)


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 200])
def test_keys_of_any_length(size: int) -> None:
    key = b"k" * size
    frame = frame_of(signed(pull(1, 2)))
    values = [value for name, value in sorted((frame.ext or {}).items()) if name != "Signature"]
    mac = b64encode(hmac.digest(key, "".join(values).encode(), "sha1")).decode()
    old = (frame.ext or {})["Signature"]
    assert takes(signed(pull(1, 2)).replace(old.encode(), mac.encode()), shop=key)


def test_what_is_asked_is_told_once_and_only_of_what_comes_next() -> None:
    signers, reader = Signers(), PullReader()
    assert signers.asked() is None
    assert reader.read(signed(pull(1, 2), "鍵"), 0, signers) is None
    assert signers.asked() == ("鍵", None)
    assert signers.asked() is None
    assert reader.read(signed(pull(1, 2)), 0, signers) is None
    assert reader.read(pull(1, 2), 0, signers) is None
    assert signers.asked() is None, "nobody is named by the last one"


def test_a_wrong_signature_ends_it() -> None:
    signers, reader, right = Signers(), PullReader(), signed(pull(1, 2))
    signers.know(USER, SECRET.encode())
    assert reader.read(right, 0, signers) is not None
    assert not signers.barred
    assert reader.read(signed(pull(1, 2), USER, "wrong"), 0, signers) is None
    assert signers.barred
    assert reader.read(right, 0, signers) is None
    signers.know(USER, SECRET.encode())
    assert reader.read(right, 0, signers) is None


def test_pulls_are_alike_whatever_their_signatures() -> None:
    signers, reader, kind = Signers(), PullReader(), object()
    signers.know(USER, SECRET.encode())
    signers.know("other", SECRET.encode())
    first, second = signed(pull(1, 2)), signed(pull(3, 4))
    reader.know(first, 0, kind, True)
    assert reader.read(second, 0, signers) == (len(second), kind, 0, 4, 0, 3)
    found = reader.read(signed(pull(3, 4), "other"), 0, signers)
    assert found is not None
    assert found[1] is None, "another one's are another kind"
    reader.know(pull(1, 2), 0, kind, True)
    assert len(reader) == 1, "one that is not signed is none"
