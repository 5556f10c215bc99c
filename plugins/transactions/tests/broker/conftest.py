"""The scenes of the kernel's own broker tests."""

from broker.conftest import run as run
from broker.conftest import with_store as with_store
