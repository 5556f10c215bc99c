"""Bytes in, bytes out: no socket takes part."""

from __future__ import annotations

import ssl
from pathlib import Path

import certificates
import pytest
import trustme
from hypothesis import given, settings
from hypothesis import strategies as st

from mqframe.net.tls.contexts import client_context, server_context
from mqframe.net.tls.pipe import TlsPipe


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    pems = certificates.make(Path(tmp_path_factory.mktemp("pems")))
    client, server = client_context(pems.client()), server_context(pems.server())
    assert client is not None
    assert server is not None
    return client, server


def pair(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> tuple[TlsPipe, TlsPipe]:
    """Two sides that have shaken hands."""
    client, server = TlsPipe(contexts[0], host="127.0.0.1"), TlsPipe(contexts[1], server_side=True)
    while not (client.established and server.established):
        server.receive(client.outgoing())
        client.receive(server.outgoing())
    assert client.receive(server.outgoing()) == b""
    return client, server


@settings(max_examples=30, deadline=None)
@given(
    parts=st.lists(st.binary(max_size=60_000), max_size=4),
    cut=st.integers(min_value=1, max_value=20_000),
)
def test_what_goes_in_comes_out_however_it_is_cut(contexts, parts: list[bytes], cut: int) -> None:
    for sender, receiver in (pair(contexts), pair(contexts)[::-1]):
        wire = b"".join(sender.send(part) for part in parts)
        got = b"".join(receiver.receive(wire[at : at + cut]) for at in range(0, len(wire), cut))
        assert got == b"".join(parts)
        assert not receiver.ended


def test_data_may_come_with_the_end_of_the_handshake(contexts) -> None:
    client, server = TlsPipe(contexts[0], host="127.0.0.1"), TlsPipe(contexts[1], server_side=True)
    server.receive(client.outgoing())
    client.receive(server.outgoing())
    assert client.established
    wire = client.outgoing() + client.send(b"at once")
    assert server.receive(wire) == b"at once"
    assert server.established


def test_the_last_words(contexts) -> None:
    client, server = pair(contexts)
    assert server.receive(client.send(b"bye") + client.farewell()) == b"bye"
    assert server.ended
    assert client.farewell() == b""


def test_damage_raises(contexts) -> None:
    client, server = pair(contexts)
    wire = bytearray(client.send(b"x" * 100))
    wire[-1] ^= 1
    with pytest.raises(ssl.SSLError):
        server.receive(bytes(wire))
    assert server.outgoing()[:1] == b"\x17"  # an alert, encrypted


def test_nothing_waits_where_nothing_was_said(contexts) -> None:
    assert TlsPipe(contexts[1], server_side=True).outgoing() == b""
    assert TlsPipe(contexts[0], host="127.0.0.1").outgoing()[:1] == b"\x16"


def test_a_trusted_certificate_tells_a_name(tmp_path: Path) -> None:
    authority = trustme.CA()
    ours = certificates.issue(authority, tmp_path / "server")
    theirs = certificates.issue(authority, tmp_path / "client", common_name="shop.example.org")
    asking = ours.server(tls_server_client_auth="optional", tls_server_ca_file=ours.ca)
    server = server_context(asking)
    assert server is not None
    for shown, name in (
        ({"tls_cert_file": theirs.cert, "tls_key_file": theirs.key}, "shop.example.org"),
        ({}, ""),
    ):
        client = client_context(theirs.client(**shown))
        assert client is not None
        _, served = pair((client, server))
        assert served.peer_name == name
