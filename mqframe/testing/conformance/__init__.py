"""What every plugin of a kind has to do, as test classes for pytest.

Subclass the suite of your kind in your plugin's tests, call the class `Test…`, and make your object:

    class TestMine(AllocationConformance):
        def make(self):
            return Mine()

Each suite says which further methods it looks at. pytest is needed to run them, nothing else.
"""

import pytest

# Before the modules are imported, so that a failing assertion shows its values.
pytest.register_assert_rewrite(
    "mqframe.testing.conformance.allocation",
    "mqframe.testing.conformance.dispatcher",
    "mqframe.testing.conformance.hooks",
    "mqframe.testing.conformance.message_filter",
    "mqframe.testing.conformance.offset_store",
    "mqframe.testing.conformance.selector",
)

from mqframe.testing.conformance.allocation import AllocationConformance  # noqa: E402
from mqframe.testing.conformance.dispatcher import DispatcherConformance, FileRange  # noqa: E402
from mqframe.testing.conformance.hooks import (  # noqa: E402
    ConsumeHookConformance,
    ForbiddenHookConformance,
    RpcHookConformance,
    SendHookConformance,
)
from mqframe.testing.conformance.message_filter import MessageFilterConformance  # noqa: E402
from mqframe.testing.conformance.offset_store import MemoryWire, OffsetStoreConformance  # noqa: E402
from mqframe.testing.conformance.selector import SelectorConformance  # noqa: E402

__all__ = [
    "AllocationConformance",
    "ConsumeHookConformance",
    "DispatcherConformance",
    "FileRange",
    "ForbiddenHookConformance",
    "MemoryWire",
    "MessageFilterConformance",
    "OffsetStoreConformance",
    "RpcHookConformance",
    "SelectorConformance",
    "SendHookConformance",
]
