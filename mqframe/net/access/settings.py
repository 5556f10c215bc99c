"""Settings of access control, of brokers, name servers and proxies alike."""

from __future__ import annotations

from typing import Final

import msgspec

from mqframe.core.config.settings import setting, settings
from mqframe.core.errors import SettingError
from mqframe.hooks.interfaces.access import Credentials

_NAMES: Final = (("username", "password"), ("accessKey", "secretKey"))
PLAIN: Final = "plain_acl"
_SWITCHES: Final = {"true": "acl2", "false": ""}


def _plugin_of_switch(text: str) -> str:
    try:
        return _SWITCHES[text.lower()]
    except KeyError:
        raise ValueError("must be true or false") from None


def _codes(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in text.split(",") if word.strip())
    except ValueError:
        raise ValueError("must be codes of requests, separated by commas") from None


def _user(text: str) -> str | None:
    try:
        credentials(text)
    except ValueError as problem:
        return str(problem)
    return None


def credentials(text: str) -> Credentials | None:
    """What "name:secret" stands for, or JSON as RocketMQ has it; `None` for nothing. Raises ValueError."""
    if not text:
        return None
    name, _, secret = text.partition(":")
    if text.startswith("{"):
        try:
            table = msgspec.json.decode(text, type=dict[str, str])
        except (msgspec.MsgspecError, RecursionError):
            raise ValueError("is no JSON object of texts") from None
        name, secret = next(((table[a], table[b]) for a, b in _NAMES if a in table and b in table), ("", ""))
    if not name.strip() or not secret.strip():
        raise ValueError('must be "name:secret", or JSON with username and password')
    return Credentials(name.strip(), secret.strip())


@settings("access")
class AccessSettings:
    """Who may send requests to servers, and what for."""

    authentication: str = setting(
        "",
        doc="plugin that says who sends a request; empty: everybody is served",
        conf="authenticationEnabled",
        from_conf=_plugin_of_switch,
        plugin="authentication",
    )
    authorization: str = setting(
        "",
        doc="plugin that says what a user may do; empty: everything",
        conf="authorizationEnabled",
        from_conf=_plugin_of_switch,
        plugin="authorization",
    )
    initial_user: str = setting(
        "",
        doc="first user, who may do everything and makes the others, `name:secret` or JSON with `username` "
        "and `password`; one of that name that was changed since stays as it is",
        check=_user,
        conf="initAuthenticationUser",
        secret=True,
    )
    inner_credentials: str = setting(
        "",
        doc="user that this server itself is towards other servers, `name:secret` or JSON with `accessKey` "
        "and `secretKey`; it may do everything here, too",
        check=_user,
        conf="innerClientAuthenticationCredentials",
        secret=True,
    )

    authentication_whitelist: tuple[int, ...] = setting(
        (),
        doc="codes of requests that are let in whoever sends them; what authorization says of them counts, "
        "and it grants nothing to somebody unknown",
        conf="authenticationWhitelist",
        from_conf=_codes,
    )
    authorization_whitelist: tuple[int, ...] = setting(
        (),
        doc="codes of requests that everybody may send who is let in",
        conf="authorizationWhitelist",
        from_conf=_codes,
    )
    plain: bool = setting(
        False,
        doc="whether `plain_acl`, the access control of RocketMQ 4.9, is both plugins where none is named",
        conf="aclEnable",
    )

    @property
    def authentication_plugin(self) -> str:
        """The plugin that says who asks; "" for none."""
        return self.authentication or (PLAIN if self.plain else "")

    @property
    def authorization_plugin(self) -> str:
        """The plugin that says what they may; "" for none."""
        return self.authorization or (PLAIN if self.plain and self.authentication in ("", PLAIN) else "")

    def __attrs_post_init__(self) -> None:
        if self.authorization and not self.authentication_plugin:
            raise SettingError(
                f"access.authorization = {self.authorization!r} needs access.authentication: nobody is "
                "granted anything unless it is known who asks"
            )
