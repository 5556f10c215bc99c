"""Keys that the files of another system hold, beside those that settings name (`conf`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from mqframe.core.config.layers import Given


class Dialect:
    """What is known of keys that no setting names. This one knows none: each of them is an error.

    `keys`: those that mean something to the other system; they may be given, and have no effect here.
    `renamed`: older names of keys, by which settings do not name them.
    """

    keys: Collection[str] = ()
    renamed: Mapping[str, str] = {}

    def refusal(self, given: Mapping[str, Given], sections: Iterable[str], role: str, moved: bool) -> str:
        """Why no server with `sections` may start with the keys that were `given`; "" where it may.

        `role`: of replication, as it was chosen; `moved`: somebody says besides where the store is.
        """
        return ""

    def warnings(self, given: Mapping[str, Given]) -> Iterator[str]:
        """For people, what becomes of the keys that were `given` and that no setting names."""
        return iter(())


NO_DIALECT: Final = Dialect()
