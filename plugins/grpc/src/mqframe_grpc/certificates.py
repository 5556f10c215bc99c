"""What secures the door's connections: the operator's certificate, or one that it makes for itself.

Clients of Java, Go and C# use TLS unless they are told otherwise, and trust any certificate; so there has to
be one.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from mqframe.core.errors import SettingError
from mqframe.log import get_logger
from mqframe.net.settings import NetSettings
from mqframe.net.tls.contexts import server_context

log = get_logger("grpc")

_YEARS: Final = 10
_DAYS: Final = 365


def http2_context(settings: NetSettings) -> ssl.SSLContext | None:
    """The context of a server that speaks HTTP/2 alone. Raises `SettingError`."""
    context = server_context(settings)
    if context is not None:
        context.set_alpn_protocols(["h2"])
    return context


def self_signed(folder: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> tuple[str, str]:
    """Files with a certificate and its key below `folder`, made unless they are there.

    Nobody but this user may read the key. Raises `SettingError` where they cannot be written.
    """
    cert, key = folder / "self_signed.crt", folder / "self_signed.key"
    if not (cert.exists() and key.exists()):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _write(cert, key, now())
        except OSError as problem:
            raise SettingError(
                f"plugins.grpc.tls: no certificate can be written to {folder}: {problem.strerror}; give one "
                "of your own in plugins.grpc.tls_cert_file, or set plugins.grpc.tls = disabled"
            ) from None
        log.info(
            "a self-signed certificate was made; plugins.grpc.tls_cert_file takes a real one", file=str(cert)
        )
    return str(cert), str(key)


def _write(cert: Path, key: Path, now: datetime) -> None:
    # Imported where a certificate has to be made: once in the life of a store.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mqframe")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=_YEARS * _DAYS))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(private, hashes.SHA256())
    )
    text = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    for file, content in ((key, text), (cert, made.public_bytes(serialization.Encoding.PEM))):
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
