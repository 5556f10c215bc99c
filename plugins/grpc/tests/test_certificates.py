from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from mqframe_grpc.certificates import http2_context, self_signed

from mqframe.core.errors import SettingError
from mqframe.net.settings import NetSettings


def test_a_certificate_is_made_once_and_secures_http2(tmp_path: Path) -> None:
    cert, key = self_signed(tmp_path / "grpc")
    before = Path(cert).read_bytes(), Path(key).read_bytes()
    assert self_signed(tmp_path / "grpc") == (cert, key)
    assert (Path(cert).read_bytes(), Path(key).read_bytes()) == before
    assert Path(key).stat().st_mode & 0o777 == 0o600
    made = http2_context(NetSettings(tls_server_cert_file=cert, tls_server_key_file=key))
    assert made is not None
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    client.set_alpn_protocols(["h2", "http/1.1"])
    assert shaken(client, made) == ("h2", "TLSv1.3")


def shaken(client: ssl.SSLContext, server: ssl.SSLContext) -> tuple[str | None, str | None]:
    """What both sides agree on."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(back, there)
    theirs = server.wrap_bio(there, back, server_side=True)
    for _ in range(4):
        for side in (ours, theirs):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return ours.selected_alpn_protocol(), ours.version()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "grpc").write_text("a file")
    with pytest.raises(SettingError, match=r"tls_cert_file"):
        self_signed(tmp_path / "grpc")


def test_without_a_certificate_there_is_no_context() -> None:
    assert http2_context(NetSettings()) is None
