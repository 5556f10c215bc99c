"""What is said of a server that would pass over what it is asked."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest
from mqframe_admin.rules.understood import check_understood

from mqframe.core.errors import FixError
from mqframe.core.parameters import Since
from mqframe.core.versions import version_number


class Asked(msgspec.Struct, rename="camel"):
    name: str
    of_five: Annotated[int | None, Since("5.0.0", (-1,))] = None
    steps: Annotated[list[int], Since("5.1.3")] = msgspec.field(default_factory=lambda: [1])


@pytest.mark.parametrize("sent", [Asked("a"), Asked("a", -1, [1]), Asked("a", 0), Asked("a", 3, [])])
def test_a_server_that_looks_at_all_is_asked(sent: Asked) -> None:
    check_understood(sent, version_number("5.1.3"), "a:1")


@pytest.mark.parametrize("sent", [Asked("a"), Asked("a", -1, [1])])
def test_any_server_is_asked_for_what_all_do(sent: Asked) -> None:
    check_understood(sent, 0, "a:1")


@pytest.mark.parametrize(("number", "named"), [(version_number("4.9.7"), "4.9.7"), (0, "protocol version 0")])
def test_a_server_that_would_pass_over_a_value_is_named_with_the_version_that_does_not(
    number: int, named: str
) -> None:
    with pytest.raises(FixError) as problem:
        check_understood(Asked("a", 3), number, "10.0.0.1:10911")
    assert str(problem.value) == (
        "ofFive=3 of Asked is understood from Apache RocketMQ 5.0.0 on, and 10.0.0.1:10911 is "
        f"{named}, which would pass over it; nothing was sent"
    )
