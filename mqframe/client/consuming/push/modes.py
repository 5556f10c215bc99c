"""How a push consumer gets at messages: it pulls queues of its own, or does what a distribution brings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.group.runtime import ConsumerRuntime
from mqframe.client.consuming.push.assembly import push_runtime
from mqframe.client.consuming.push.plan import ConsumerPlan
from mqframe.core.errors import FixError
from mqframe.hooks.client_parts import load_part, offered_parts
from mqframe.hooks.known_distributions import KNOWN_CLIENT_PARTS

PART: Final = "-consumers"
"""A client part of this ending is a mode: called with a plan, arguments about queues and offsets, and options
it has the `plan` that it makes of it, and `runtime`, which puts the consumer together."""


def consume_mode(
    name: str, options: object, plan: ConsumerPlan, sharing: Mapping[str, object]
) -> tuple[ConsumerPlan, Callable[[ClientInstance], ConsumerRuntime]]:
    """The plan in the mode called `name`, and what makes a consumer of it that has not joined yet.

    Raises `FixError` for a mode that there is not, and for what makes no sense in it.
    """
    if name == "pull" and not options:
        return plan, partial(push_runtime, plan)
    modes = [part.removesuffix(PART) for part in {**KNOWN_CLIENT_PARTS, **offered_parts()} if PART in part]
    if name not in modes:
        known = ", ".join(["pull", *sorted(modes)])
        raise FixError(f"mode is {name!r}{' with options' if options else ''}; choose one of {known}")
    mode = load_part(name + PART)(plan, sharing, options)
    return mode.plan, mode.runtime
