"""Certificates for tests: an authority and what it signed, as files."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any, NamedTuple

import trustme
from cryptography.hazmat.primitives import serialization

from mqframe.net.settings import NetSettings


class Pems(NamedTuple):
    """Paths of PEM files."""

    ca: str
    cert: str
    key: str

    def server(self, **change: Any) -> NetSettings:
        """How a server uses them."""
        return NetSettings(tls_server_cert_file=self.cert, tls_server_key_file=self.key, **change)

    def client(self, **change: Any) -> NetSettings:
        """How a client trusts them."""
        return NetSettings(**{"tls": True, "tls_ca_file": self.ca, **change})


def make(folder: Path, *names: str, expired: bool = False) -> Pems:
    """A new authority, and a certificate of it for `names`, by default 127.0.0.1, in `folder`."""
    return issue(trustme.CA(), folder, *names, expired=expired)


def issue(
    authority: trustme.CA,
    folder: Path,
    *names: str,
    common_name: str | None = None,
    expired: bool = False,
    early: bool = False,
) -> Pems:
    """A certificate of `authority` for `names`, by default 127.0.0.1, in `folder`.

    `expired`: its time is over; `early`: its time has not come.
    """
    folder.mkdir(parents=True, exist_ok=True)
    now, some = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=2)
    times = {"not_after": now - some} if expired else {"not_before": now + some} if early else {}
    leaf = authority.issue_cert(*(names or ("127.0.0.1", "localhost")), common_name=common_name, **times)
    authority.cert_pem.write_to_path(folder / "ca.pem")
    key = serialization.load_pem_private_key(leaf.private_key_pem.bytes(), None)
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,  # the one that Java reads
            serialization.NoEncryption(),
        )
    )
    for n, blob in enumerate(leaf.cert_chain_pems):
        blob.write_to_path(folder / "cert.pem", append=n > 0)
    return Pems(*(str(folder / f"{name}.pem") for name in ("ca", "cert", "key")))
