"""The interfaces of everything that can be plugged in, one kind a file.

Implement one, name it in the entry-point group `mqframe` as `kind.name`, and it can be chosen by that name.
"""

from mqframe.hooks.interfaces.allocation import AllocationStrategy
from mqframe.hooks.interfaces.consume_hook import ConsumeContext, ConsumeHook
from mqframe.hooks.interfaces.dispatcher import Dispatcher, LogRange
from mqframe.hooks.interfaces.forbidden_hook import Forbidden, ForbiddenContext, ForbiddenHook
from mqframe.hooks.interfaces.hook_port import HookPort
from mqframe.hooks.interfaces.message_filter import Matches, MessageFilter
from mqframe.hooks.interfaces.offset_store import OffsetStore, OffsetStoreContext, OffsetWire, ReadFrom
from mqframe.hooks.interfaces.rpc_hook import RpcHook
from mqframe.hooks.interfaces.selector import QueueSelector
from mqframe.hooks.interfaces.send_hook import SendContext, SendHook

__all__ = [
    "AllocationStrategy",
    "ConsumeContext",
    "ConsumeHook",
    "Dispatcher",
    "Forbidden",
    "ForbiddenContext",
    "ForbiddenHook",
    "HookPort",
    "LogRange",
    "Matches",
    "MessageFilter",
    "OffsetStore",
    "OffsetStoreContext",
    "OffsetWire",
    "QueueSelector",
    "ReadFrom",
    "RpcHook",
    "SendContext",
    "SendHook",
]
