"""Access control of one process: its plugins, which all its servers share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import attrs

from mqframe.core.clock import Clock
from mqframe.hooks.interfaces.access import Authentication, Authorization, BrokerPlace, Credentials, KeptFile
from mqframe.hooks.interfaces.rpc_hook import RpcHook
from mqframe.hooks.manager import PluginManager
from mqframe.net.access.settings import AccessSettings, credentials

T = TypeVar("T")


@attrs.define
class Port:
    """What the plugins are handed. `keep`: makes the file of a name; `None`: nothing is kept."""

    clock: Clock
    cluster: str
    initial: Sequence[Credentials]
    inner: Credentials | None
    keep: Callable[[str], KeptFile] | None
    introduce: Callable[[], BrokerPlace] = attrs.field(default=lambda: BrokerPlace("", ""), init=False)
    _made: dict[Any, Any] = attrs.field(factory=dict, init=False)

    @property
    def broker(self) -> BrokerPlace:
        """The first broker that this is the access control of; empty texts before, and of name servers."""
        return self.introduce()

    def file(self, name: str) -> KeptFile | None:
        """The file `name` among the server's configuration; `None` when nothing is kept."""
        return None if self.keep is None else self.keep(name)

    def shared(self, make: Callable[[Any], T], options: object) -> T:
        """What `make(options)` gave the first time."""
        if make not in self._made:
            self._made[make] = make(options)
        return cast("T", self._made[make])


class Access:
    """Who may do what at the servers of one process.

    `authentication` and `authorization` are `None` where `settings` name none. `let_in` and `granted`: codes
    of requests that they are not asked about. `keep`: makes the file of a name where users are kept. Raises
    `PluginError`, `SettingError`, and `StoreError` for a broken file.
    """

    def __init__(
        self,
        settings: AccessSettings,
        clock: Clock,
        plugins: PluginManager,
        *,
        cluster: str = "",
        keep: Callable[[str], KeptFile] | None = None,
    ) -> None:
        initial, inner = credentials(settings.initial_user), credentials(settings.inner_credentials)
        first = [each for each in (initial, inner) if each is not None]
        self._port = port = Port(clock, cluster, first, inner, keep)
        self.clock = clock
        self.authentication: Authentication | None = None
        self.authorization: Authorization | None = None
        self.let_in = frozenset(settings.authentication_whitelist)
        self.granted = frozenset(settings.authorization_whitelist)
        if name := settings.authentication_plugin:
            self.authentication = plugins.create("authentication", name, None, port)
        if name := settings.authorization_plugin:
            self.authorization = plugins.create("authorization", name, None, port)

    def of_broker(self, introduce: Callable[[], BrokerPlace]) -> None:
        """This is the access control of a broker, which `introduce` names; of several the first counts."""
        if not self._port.broker.name:
            self._port.introduce = introduce

    def serving(self) -> list[object]:
        """The objects that answer requests of operators, each once."""
        plugins = [each for each in (self.authentication, self.authorization) if each is not None]
        return list({id(owner): owner for plugin in plugins for owner in plugin.serving()}.values())

    def signer(self) -> RpcHook | None:
        """What signs requests of these servers to others."""
        return None if self.authentication is None else self.authentication.signer()


def kept_below(directory: Path | None, make: Callable[[Path], KeptFile]) -> Callable[[str], KeptFile] | None:
    """What makes the files of a server whose configuration lies in `directory`; `None` without one."""
    return None if directory is None else lambda name: make(directory / name)
