"""What every plugin of a kind has to do, as test classes for pytest.

Subclass the suite of your kind in your plugin's tests, call the class `Test…`, and make your object:

    class TestMine(AllocationConformance):
        def make(self):
            return Mine()

Each suite says which further methods it looks at. pytest is needed to run them, nothing else.
"""

from pkgutil import iter_modules

import pytest

# Before the modules are imported, so that a failing assertion shows its values.
pytest.register_assert_rewrite(*(f"{__name__}.{each.name}" for each in iter_modules(__path__)))

from mqframe_testing.conformance.access import AccessStage as AccessStage  # noqa: E402
from mqframe_testing.conformance.access import AuthenticationConformance as AuthenticationConformance  # noqa: E402
from mqframe_testing.conformance.access import AuthorizationConformance as AuthorizationConformance  # noqa: E402
from mqframe_testing.conformance.access import PlainPeer as PlainPeer  # noqa: E402
from mqframe_testing.conformance.allocation import AllocationConformance as AllocationConformance  # noqa: E402
from mqframe_testing.conformance.broker_service import BrokerServiceConformance as BrokerServiceConformance  # noqa: E402
from mqframe_testing.conformance.broker_service import RunningService as RunningService  # noqa: E402
from mqframe_testing.conformance.codec import CodecConformance as CodecConformance  # noqa: E402
from mqframe_testing.conformance.coordination import CoordinationConformance as CoordinationConformance  # noqa: E402
from mqframe_testing.conformance.dispatcher import DispatcherConformance as DispatcherConformance  # noqa: E402
from mqframe_testing.conformance.dispatcher import WrittenRange as WrittenRange  # noqa: E402
from mqframe_testing.conformance.hooks import ConsumeHookConformance as ConsumeHookConformance  # noqa: E402
from mqframe_testing.conformance.hooks import ForbiddenHookConformance as ForbiddenHookConformance  # noqa: E402
from mqframe_testing.conformance.hooks import RpcHookConformance as RpcHookConformance  # noqa: E402
from mqframe_testing.conformance.hooks import SendHookConformance as SendHookConformance  # noqa: E402
from mqframe_testing.conformance.message_filter import MessageFilterConformance as MessageFilterConformance  # noqa: E402
from mqframe_testing.conformance.offset_store import MemoryWire as MemoryWire  # noqa: E402
from mqframe_testing.conformance.offset_store import OffsetStoreConformance as OffsetStoreConformance  # noqa: E402
from mqframe_testing.conformance.selector import SelectorConformance as SelectorConformance  # noqa: E402
