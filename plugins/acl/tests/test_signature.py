"""Signatures as a server checks them."""

from __future__ import annotations

import hmac

from hypothesis import given
from hypothesis import strategies as st
from mqframe_acl.signature import SIGNATURE, Signer

from mqframe.core.wire.frame import Frame

FIELDS = st.dictionaries(st.text(max_size=20), st.text(max_size=200), max_size=30)


@given(FIELDS, st.binary(max_size=200), st.text())
def test_what_was_signed_fits_and_nothing_else(ext: dict[str, str], body: bytes, secret: str) -> None:
    signer, other = Signer(secret), Signer(secret + "x")
    frame = Frame(310, ext=ext, body=body)
    frame.ext = {**ext, SIGNATURE: signer.sign(frame, body)}
    assert signer.fits(frame)
    assert not other.fits(frame)
    assert not signer.fits(Frame(310, ext=frame.ext, body=body + b"x"))
    assert not signer.fits(Frame(310, ext={**frame.ext, "~": "more"}, body=body))


@given(st.one_of(st.none(), FIELDS), st.one_of(st.none(), st.text()), st.binary(max_size=50))
def test_rubbish_never_fits(ext: dict[str, str] | None, signature: str | None, body: bytes) -> None:
    if signature is not None:
        ext = {**(ext or {}), SIGNATURE: signature}
    assert not Signer("12345678").fits(Frame(310, ext=ext, body=body))


def test_lone_surrogates_are_signed_as_java_does() -> None:
    signer = Signer("12345678")
    assert signer.sign(Frame(1, ext={"a": "\ud800"}), b"") == signer.sign(Frame(1, ext={"a": "?"}), b"")
    assert not signer.fits(Frame(1, ext={SIGNATURE: "\ud800"}))


def test_old_clients_do_not_sign_the_mark_of_a_unique_key() -> None:
    signer = Signer("12345678")
    marked = {"topic": "orders", "_UNIQUE_KEY_QUERY": "true"}
    without = signer.sign(Frame(12, ext={"topic": "orders"}), b"")
    assert signer.sign(Frame(12, ext=marked, version=399), b"") == without
    assert signer.sign(Frame(12, ext=marked, version=400), b"") != without


@given(st.binary(max_size=200), st.text(), st.binary(max_size=40))
def test_the_signature_of_a_text_is_its_hmac_and_nothing_else(
    text: bytes, secret: str, rubbish: bytes
) -> None:
    signer = Signer(secret)
    wanted = hmac.digest(secret.encode(), text, "sha1")
    assert signer.fits_text(text, wanted)
    assert signer.fits_text(text, rubbish) is (rubbish == wanted)
    assert not signer.fits_text(text + b"x", wanted)
    assert not Signer(secret + "x").fits_text(text, wanted)
