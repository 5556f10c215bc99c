"""What settings say about TLS, as contexts of the standard library, and its faults in plain words."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final

from mqframe.core.errors import ConnectError, SettingError, TlsError
from mqframe.net.settings import NetSettings
from mqframe.net.tls.pipe import TlsPipe

HANDSHAKE_BYTE: Final = 0x16
"""What a TLS connection begins with. A frame that did would be 369 MB long or longer."""


def client_context(settings: NetSettings) -> ssl.SSLContext | None:
    """How connections of this side are secured; `None` where they are not. Raises `SettingError`."""
    if not settings.tls:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _harden(context)
    context.check_hostname = settings.tls_verify == "full"
    if settings.tls_verify == "none":
        context.verify_mode = ssl.CERT_NONE
    elif settings.tls_ca_file:
        _trust(context, "tls_ca_file", settings.tls_ca_file)
    else:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    _show(context, settings, "tls")
    return context


def server_context(settings: NetSettings) -> ssl.SSLContext | None:
    """How a server secures connections; `None` where it takes plain ones only. Raises `SettingError`."""
    mode, certificate = settings.tls_server_mode, settings.tls_server_cert_file
    if mode == "disabled" or (mode == "permissive" and not certificate):
        return None
    if not certificate:
        raise SettingError(f"net.tls_server_mode = {mode!r} needs net.tls_server_cert_file, which is empty")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _harden(context)
    _show(context, settings, "tls_server")
    wanted = settings.tls_server_client_auth
    if wanted != "none":
        if not settings.tls_server_ca_file:
            raise SettingError(f"net.tls_server_client_auth = {wanted!r} needs net.tls_server_ca_file")
        _trust(context, "tls_server_ca_file", settings.tls_server_ca_file)
        context.verify_mode = ssl.CERT_REQUIRED if wanted == "require" else ssl.CERT_OPTIONAL
    return context


def _harden(context: ssl.SSLContext) -> None:
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION


def _trust(context: ssl.SSLContext, name: str, file: str) -> None:
    try:
        context.load_verify_locations(cafile=file)
    except (OSError, ssl.SSLError) as problem:
        raise _unusable(name, file, problem) from None


def _show(context: ssl.SSLContext, settings: NetSettings, side: str) -> None:
    cert_name, key_name, password_name = f"{side}_cert_file", f"{side}_key_file", f"{side}_key_password"
    cert, key, password = (getattr(settings, name) for name in (cert_name, key_name, password_name))
    if not cert and not key:
        return
    for one, other, missing in ((cert, key, key_name), (key, cert, cert_name)):
        if one and not other:
            raise SettingError(f"net.{cert_name} and net.{key_name} come together; net.{missing} is empty")
    for name, file in ((cert_name, cert), (key_name, key)):
        try:
            Path(file).open("rb").close()
        except OSError as problem:
            raise _unusable(name, file, problem) from None
    asked = False

    def encrypted() -> str:
        # Without this the library asks at the terminal.
        nonlocal asked
        asked = True
        if not password:
            raise SettingError(f"net.{key_name} = {key!r}: is encrypted; set net.{password_name}")
        return str(password)

    try:
        context.load_cert_chain(cert, key, encrypted)
    except (OSError, ssl.SSLError) as problem:
        if asked and not isinstance(problem, FileNotFoundError):
            raise SettingError(
                f"net.{key_name} = {key!r}: cannot be decrypted with net.{password_name}, or does not belong "
                f"to net.{cert_name}"
            ) from None
        raise _unusable(f"{cert_name} = {cert!r}, net.{key_name}", key, problem) from None


def _unusable(name: str, file: str, problem: Exception) -> SettingError:
    if isinstance(problem, ssl.SSLError):
        said = f"cannot be used: {problem.reason or 'there is no PEM block that is wanted in it'}"
    else:
        said = f"cannot be read: {getattr(problem, 'strerror', None) or problem}"
    return SettingError(f"net.{name} = {file!r}: {said}")


def open_pipe(context: ssl.SSLContext, address: str, host: str) -> TlsPipe:
    """This side of a session with `address`, which is to show a certificate for `host`. Raises `TlsError`."""
    try:
        return TlsPipe(context, host=host)
    except ValueError as problem:  # of a name, too, that cannot be encoded
        raise TlsError(
            f"no connection to {address}: no certificate is made out to {host!r}: {problem}"
        ) from None


def handshake_error(address: str, problem: Exception) -> ConnectError | TlsError:
    """What to tell a caller whose connection to `address` could not be secured because of `problem`."""
    if isinstance(problem, ssl.SSLCertVerificationError):
        return TlsError(
            f"no connection to {address}: its certificate is refused: {problem.verify_message}; "
            f"{_what_to_do(problem)}; nothing was sent"
        )
    if isinstance(problem, ssl.SSLError):
        reason = problem.reason or str(problem)
        if reason in _PLAIN:
            return TlsError(f"no connection to {address}: {SPEAKS_PLAIN}; nothing was sent")
        return TlsError(f"no connection to {address}: {broken(problem)}; nothing was sent")
    return ConnectError(
        f"no connection to {address}: it did not end the TLS handshake: {problem}; if it takes plain "
        "connections only, leave out tls; nothing was sent"
    )


SPEAKS_PLAIN: Final = "it answers, but not by TLS; leave out tls, or have the server take TLS"
_PLAIN: Final = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"})


def _what_to_do(problem: ssl.SSLCertVerificationError) -> str:
    code = problem.verify_code
    if code in (62, 64):  # X509_V_ERR_HOSTNAME_MISMATCH, _IP_ADDRESS_MISMATCH
        return "use an address that it is made out to, or tls_verify = chain"
    if code in (9, 10):  # X509_V_ERR_CERT_NOT_YET_VALID, _CERT_HAS_EXPIRED
        return "the server needs a certificate that is valid now"
    return "set tls_ca_file to the authority that signed it"


def broken(problem: ssl.SSLError) -> str:
    """What ended a session or a handshake, for the side that hears of it."""
    reason = problem.reason or str(problem)
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"the certificate of the other side is refused: {problem.verify_message}"
    if "CERTIFICATE_REQUIRED" in reason:
        return "the server wants a certificate: set tls_cert_file and tls_key_file"
    if "ALERT" in reason:
        return f"the other side ended TLS: {_readable(reason)}"
    return f"TLS failed: {_readable(reason)}"


def _readable(reason: str) -> str:
    return reason.replace("_", " ").lower()
