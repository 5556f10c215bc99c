"""Where etcd is, and how it is asked."""

from __future__ import annotations

import ssl
from pathlib import Path
from urllib.parse import urlsplit

from mqframe.core.config.settings import setting, settings, within
from mqframe.core.errors import SettingError


def _endpoints(value: tuple[str, ...]) -> str | None:
    if not value:
        return "must name one address at least"
    for each in value:
        try:
            url = urlsplit(each)
            good = url.scheme in ("http", "https") and url.hostname and url.port is not None
        except ValueError:
            good = False
        if not good or url.path not in ("", "/") or url.query or url.fragment or url.username is not None:
            return f"{each!r} is no address such as http://127.0.0.1:2379 or https://etcd-1:2379"
    if len({urlsplit(each).scheme for each in value}) > 1:
        return "must be https for all, or for none"
    return None


def _prefix(value: str) -> str | None:
    return (
        None if value.startswith("/") and not value.endswith("/") else "must begin with / and not end with it"
    )


@settings("plugins.etcd")
class EtcdOptions:
    """Where etcd is, and how it is asked."""

    endpoints: tuple[str, ...] = setting(
        ("http://127.0.0.1:2379",),
        doc="addresses for clients of etcd's members; when one does not answer, the next one is asked",
        check=_endpoints,
    )
    prefix: str = setting("/mqframe", doc="what all keys begin with", check=_prefix)
    timeout_seconds: float = setting(
        1.0,
        doc="how long a call may take, over all members, seconds; never more than a quarter of the lease",
        check=within(0.05, 60),
    )
    user: str = setting("", doc="name to authenticate with; empty: nobody in particular")
    password: str = setting("", doc="password of `user`", secret=True)
    ca: Path | None = setting(
        None, doc="PEM file of the authorities that may sign certificates of etcd; none: those of the system"
    )
    certificate: Path | None = setting(
        None, doc="PEM file of the certificate to show to etcd, with its chain"
    )
    key: Path | None = setting(None, doc="PEM file of the private key of `certificate`")

    @property
    def secure(self) -> bool:
        """Whether etcd is asked over TLS."""
        return self.endpoints[0].startswith("https:")

    def check_together(self) -> None:
        """Raises `SettingError` for options that contradict each other."""
        if bool(self.user) != bool(self.password):
            raise SettingError("options user and password of plugin etcd are given both or not at all")
        if (self.certificate is None) != (self.key is None):
            raise SettingError("options certificate and key of plugin etcd are given both or not at all")
        for name in ("ca", "certificate"):
            if getattr(self, name) is not None and not self.secure:
                raise SettingError(f"option {name} of plugin etcd needs endpoints with https, not http")

    def ssl_context(self) -> ssl.SSLContext | bool:
        """What connections are secured with. Raises `SettingError` for files that cannot be used."""
        if not self.secure:
            return False
        name, path = "ca", self.ca
        try:
            context = ssl.create_default_context(cafile=None if path is None else path.expanduser())
            if self.certificate is not None and self.key is not None:
                name, path = "certificate and key", self.certificate
                context.load_cert_chain(self.certificate.expanduser(), self.key.expanduser())
        except (OSError, ValueError) as problem:  # ssl.SSLError is an OSError
            raise SettingError(f"option {name} of plugin etcd = {str(path)!r}: {problem}") from problem
        return context
