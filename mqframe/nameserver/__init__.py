"""The name server: brokers register with it, clients ask it where topics are."""

from mqframe.nameserver.server import NameServer
from mqframe.nameserver.settings import NameServerSettings

__all__ = ["NameServer", "NameServerSettings"]
