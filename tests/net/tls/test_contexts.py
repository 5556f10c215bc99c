"""Both clients against servers in every mode."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import certificates
import pytest
from certificates import Pems
from cryptography.hazmat.primitives import serialization
from peers import ROUTE
from tls_peers import Serve, fault

from mqframe.core.errors import ConnectError, ConnectionLost, SettingError, TlsError
from mqframe.net.settings import NetSettings
from mqframe.net.tls.contexts import client_context, open_pipe, server_context


@pytest.mark.parametrize("mode", ["permissive", "enforcing"])
async def test_calls_of_all_sizes(served: Serve, pems: Pems, mode: str) -> None:
    async with served(pems.server(tls_server_mode=mode)) as it:
        client = it.client(pems.client())
        for size in (0, 1, 16_000, 16_384, 70_000, 5_000_000):
            body = bytes(range(256)) * (size // 256 + 1)
            answer = await client.invoke(it.address, ROUTE(f"t{size}"), body[:size])
            assert (answer.ext, bytes(answer.body)) == ({"topic": f"t{size}"}, body[:size])
        assert len(it.server.peers) == 1


async def test_many_calls_at_once_find_their_answers(served: Serve, pems: Pems) -> None:
    async with served(pems.server()) as it:
        client = it.client(pems.client())
        await client.invoke(it.address, ROUTE("first"))
        calls = [client.invoke(it.address, ROUTE(f"t{n}"), b"x" * (n * 97)) for n in range(200)]
        for n, answer in enumerate(await asyncio.gather(*calls)):
            assert (answer.ext, len(answer.body)) == ({"topic": f"t{n}"}, n * 97)
        assert len(it.server.peers) == 1


@pytest.mark.parametrize("mode", ["permissive", "disabled"])
async def test_a_secured_client_is_told_that_the_server_takes_plain_only(
    served: Serve, pems: Pems, mode: str
) -> None:
    settings = NetSettings() if mode == "permissive" else pems.server(tls_server_mode=mode)

    async with served(settings) as it:
        plain = it.client()
        await plain.invoke(it.address, ROUTE("t"))
        problem = await fault(it.client(pems.client()), it.address)
        assert type(problem) is ConnectError
        assert str(problem).startswith(f"no connection to {it.address}: it did not end the TLS handshake: ")
        assert "if it takes plain connections only, leave out tls; nothing was sent" in str(problem)
        assert (await plain.invoke(it.address, ROUTE("t"))).code == 0


async def test_an_answer_that_is_not_tls(served: Serve, pems: Pems) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()
        writer.close()

    listener = await asyncio.start_server(talk, "127.0.0.1", 0)
    address = f"127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    async with served(None) as it:
        problem = await fault(it.client(pems.client()), address)
    assert type(problem) is TlsError
    assert str(problem) == (
        f"no connection to {address}: it answers, but not by TLS; leave out tls, or have the server take "
        "TLS; nothing was sent"
    )
    listener.close()
    await listener.wait_closed()


async def test_a_certificate_of_an_unknown_authority(served: Serve, pems: Pems, others: Pems) -> None:
    async with served(others.server()) as it:
        problem = await fault(it.client(pems.client()), it.address)
        assert type(problem) is TlsError
        assert str(problem).startswith(f"no connection to {it.address}: its certificate is refused: ")
        assert "set tls_ca_file to the authority that signed it; nothing was sent" in str(problem)
        assert (await it.client(others.client()).invoke(it.address, ROUTE("t"))).code == 0
        everybody = it.client(NetSettings(tls=True, tls_verify="none"))
        assert (await everybody.invoke(it.address, ROUTE("t"))).code == 0


async def test_without_a_ca_file_the_system_is_asked(served: Serve, pems: Pems) -> None:
    async with served(pems.server()) as it:
        problem = await fault(it.client(NetSettings(tls=True)), it.address)
        assert type(problem) is TlsError
        assert "set tls_ca_file" in str(problem)


async def test_an_expired_certificate(served: Serve, tmp_path: Path) -> None:
    expired = certificates.make(tmp_path, expired=True)

    async with served(expired.server()) as it:
        problem = await fault(it.client(expired.client()), it.address)
        assert type(problem) is TlsError
        assert "certificate has expired; the server needs a certificate that is valid now" in str(problem)


async def test_a_certificate_for_another_name(served: Serve, tmp_path: Path) -> None:
    elsewhere = certificates.make(tmp_path, "broker.example", "10.1.2.3")

    async with served(elsewhere.server()) as it:
        problem = await fault(it.client(elsewhere.client()), it.address)
        assert type(problem) is TlsError
        assert "use an address that it is made out to, or tls_verify = chain" in str(problem)
        lenient = it.client(elsewhere.client(tls_verify="chain"))
        assert (await lenient.invoke(it.address, ROUTE("t"))).code == 0


async def test_clients_show_certificates_where_they_are_wanted(
    served: Serve, pems: Pems, others: Pems
) -> None:
    wanted = pems.server(tls_server_client_auth="require", tls_server_ca_file=others.ca)
    shown = {"tls_cert_file": others.cert, "tls_key_file": others.key}

    async with served(wanted) as it:
        good = it.client(pems.client(**shown))
        assert (await good.invoke(it.address, ROUTE("t"))).code == 0
        problem = await fault(it.client(pems.client()), it.address)
        assert "the server wants a certificate: set tls_cert_file and tls_key_file" in str(problem)
        strange = {"tls_cert_file": pems.cert, "tls_key_file": pems.key}
        problem = await fault(it.client(pems.client(**strange)), it.address)
        assert "the other side ended TLS" in str(problem)
        assert (await good.invoke(it.address, ROUTE("t"))).code == 0
    optional = pems.server(tls_server_client_auth="optional", tls_server_ca_file=others.ca)
    async with served(optional) as it:
        assert (await it.client(pems.client()).invoke(it.address, ROUTE("t"))).code == 0


@pytest.mark.parametrize("served", ["blocking"], indirect=True)
async def test_a_server_that_does_not_read_costs_the_call_and_its_connection(
    served: Serve, pems: Pems
) -> None:
    ended = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ended.wait()
        writer.close()

    context = server_context(pems.server())
    listener = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=context)
    address = f"127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    async with served(None) as it:
        client = it.client(pems.client()).blocking
        assert client is not None
        with pytest.raises(ConnectionLost, match="it did not read a whole request in time"):
            await asyncio.to_thread(client.invoke, address, ROUTE("t"), bytes(30_000_000), timeout=2.0)
        ended.set()
        listener.close()
        await listener.wait_closed()


@pytest.mark.parametrize("host", ["", "a..b", ".x"])
def test_a_host_that_no_certificate_can_name(pems: Pems, host: str) -> None:
    context = client_context(pems.client())
    assert context is not None
    with pytest.raises(TlsError, match=r"no connection to .*:1: no certificate is made out to"):
        open_pipe(context, f"{host}:1", host)


def settings_fault(make: Callable[[NetSettings], object], **given: Any) -> str:
    with pytest.raises(SettingError) as caught:
        make(NetSettings(**given))
    return str(caught.value)


def test_files_that_cannot_be_used_are_named(pems: Pems, others: Pems, tmp_path: Path) -> None:
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("no certificate")
    client, server = client_context, server_context
    assert settings_fault(client, tls=True, tls_ca_file="/nowhere").startswith(
        "net.tls_ca_file = '/nowhere': cannot be read: No such file"
    )
    assert settings_fault(client, tls=True, tls_ca_file=str(rubbish)).startswith(
        f"net.tls_ca_file = {str(rubbish)!r}: cannot be used: "
    )
    assert "net.tls_key_file is empty" in settings_fault(client, tls=True, tls_cert_file=pems.cert)
    assert "net.tls_cert_file is empty" in settings_fault(client, tls=True, tls_key_file=pems.key)
    said = settings_fault(client, tls=True, tls_cert_file=pems.cert, tls_key_file=others.key)
    assert said.startswith(
        f"net.tls_cert_file = {pems.cert!r}, net.tls_key_file = {others.key!r}: cannot be used"
    )
    assert settings_fault(server, tls_server_cert_file=pems.cert, tls_server_key_file="/nowhere").startswith(
        "net.tls_server_key_file = '/nowhere': cannot be read"
    )
    assert "needs net.tls_server_cert_file" in settings_fault(server, tls_server_mode="enforcing")
    files = {"tls_server_cert_file": pems.cert, "tls_server_key_file": pems.key}
    assert "= 'require' needs net.tls_server_ca_file" in settings_fault(
        server, **files, tls_server_client_auth="require"
    )


def sealed(pems: Pems, folder: Path) -> str:
    """The key of `pems`, encrypted."""
    key = serialization.load_pem_private_key(Path(pems.key).read_bytes(), None)
    file = folder / "sealed.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"pa55word"),
        )
    )
    return str(file)


def test_an_encrypted_key_is_opened_by_its_password(pems: Pems, tmp_path: Path) -> None:
    key = sealed(pems, tmp_path)
    server = NetSettings(
        tls_server_cert_file=pems.cert, tls_server_key_file=key, tls_server_key_password="pa55word"
    )
    assert server_context(server) is not None
    client = NetSettings(tls=True, tls_cert_file=pems.cert, tls_key_file=key, tls_key_password="pa55word")
    assert client_context(client) is not None
    assert "pa55word" not in repr(server) + repr(client)


def test_an_encrypted_key_is_named_and_nobody_is_asked_for_its_password(pems: Pems, tmp_path: Path) -> None:
    key = sealed(pems, tmp_path)
    files = {"tls_server_cert_file": pems.cert, "tls_server_key_file": key}
    said = settings_fault(server_context, **files)
    assert said == f"net.tls_server_key_file = {key!r}: is encrypted; set net.tls_server_key_password"
    said = settings_fault(server_context, **files, tls_server_key_password="wr0ng")
    assert said.startswith(f"net.tls_server_key_file = {key!r}: cannot be decrypted")
    assert "wr0ng" not in said


def test_what_is_off_makes_no_context(pems: Pems) -> None:
    assert client_context(NetSettings(tls_ca_file="/nowhere")) is None
    assert server_context(NetSettings()) is None
    assert server_context(pems.server(tls_server_mode="disabled")) is None


def test_old_protocol_versions_are_refused(pems: Pems) -> None:
    for context in (client_context(pems.client()), server_context(pems.server())):
        assert context is not None
        assert context.minimum_version == ssl.TLSVersion.TLSv1_2


def test_the_default_verifies_everything() -> None:
    context = client_context(NetSettings(tls=True))
    assert context is not None
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
