import sys
import types
from importlib.metadata import EntryPoint

import attrs
import pytest
from without import without

from mqframe.core.config.plugin_options import PluginOptions
from mqframe.core.config.settings import at_least, setting, settings
from mqframe.core.errors import PluginError, SettingError
from mqframe.hooks.interfaces import AllocationStrategy, QueueSelector, SendHook
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.plugin_info import PluginInfo
from mqframe.hooks.specs import hookimpl


class First(QueueSelector):
    """The first queue."""

    def select(self, queues, message, key):
        return queues[0]


class Nth(QueueSelector):
    """The n-th queue."""

    @settings("plugins.nth")
    class Options:
        """Which."""

        n: int = setting(0, doc="index of the queue", check=at_least(0))
        label: str = setting(doc="any text")

    def __init__(self, options: Options) -> None:
        self.options = options

    def select(self, queues, message, key):
        return queues[self.options.n % len(queues)]


class Distribution:
    """What `EntryPoint.dist` gives."""

    def __init__(self, name: str, version: str = "1.0") -> None:
        self.name, self.version = name, version
        self.metadata = {"Name": name, "Version": version}


def entry(name: str, value: str = "acme_selectors", distribution: str = "acme-selectors") -> EntryPoint:
    made = EntryPoint(name, value, "mqframe")
    vars(made)["dist"] = Distribution(distribution)
    return made


@pytest.fixture(autouse=True)
def acme(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A plugin module whose hook says when it was called."""
    calls: list[str] = []
    module = types.ModuleType("acme_selectors")

    @hookimpl
    def register_queue_selectors():
        calls.append("register")
        return {"first": First, "nth": Nth, "nothing": dict}

    module.register_queue_selectors = register_queue_selectors
    module.First = First
    monkeypatch.setitem(sys.modules, "acme_selectors", module)
    return calls


NAMES = [entry("selector.first"), entry("selector.nth"), entry("selector.nothing")]


def manager(*more: EntryPoint) -> PluginManager:
    return PluginManager(lambda: [*NAMES, *more])


def test_a_name_is_made_through_its_factory(acme: list[str]) -> None:
    plugins = manager()
    assert type(plugins.create("selector", "first")) is First
    assert plugins.create("selector", "first") is not plugins.create("selector", "first")
    plugins.create("selector", "nth", {"label": "x"})
    assert acme == ["register"] * 2


def test_nothing_is_scanned_before_the_first_need_and_nothing_imported_before_it_is_chosen(acme) -> None:
    scans: list[int] = []

    def find():
        scans.append(1)
        return [*NAMES, entry("selector.broken", "no_such_module_at_all")]

    plugins = PluginManager(find)
    assert scans == []
    assert plugins.create("selector", First)
    assert scans == []
    assert plugins.names("selector") == ["broken", "first", "hash", "nothing", "nth"]
    selectors = [info for info in plugins.installed() if info.kind == "selector"]
    assert selectors[0] == PluginInfo("selector", "broken", "acme-selectors", "1.0")
    assert plugins.create("selector", "first")
    assert scans == [1]


def test_a_broken_plugin_stops_only_who_chose_it() -> None:
    plugins = manager(entry("selector.broken", "no_such_module_at_all", "acme-broken"))
    assert plugins.create("selector", "first")
    with pytest.raises(
        PluginError, match=r"selector.broken of acme-broken 1.0 .* ModuleNotFoundError.*no_such"
    ):
        plugins.create("selector", "broken")
    broken = next(info for info in plugins.installed(options=True) if info.name == "broken")
    assert broken.options is None
    assert "cannot be loaded" in broken.problem


def test_options_are_checked_before_the_factory_sees_them() -> None:
    plugins = manager()
    made = plugins.create("selector", "nth", {"n": "3", "label": "x"})
    assert made.options == Nth.Options(n=3, label="x")
    assert plugins.create("selector", ("nth", {"label": "y"})).options.label == "y"
    assert plugins.create("selector", "nth", Nth.Options(n=5, label="z")).options.n == 5


@pytest.mark.parametrize(
    ("choice", "options", "message"),
    [
        ("nth", {"m": 1, "label": "x"}, "no option m of plugin nth; its options: label, n"),
        ("nth", {"n": "x", "label": "x"}, "option n of plugin nth = 'x': must be a whole number"),
        ("nth", {"n": -1, "label": "x"}, "option n of plugin nth: plugins.nth.n = -1: must be at least 0"),
        ("nth", None, "nth needs the option label"),
        ("nth", 7, "must be a table or a Nth.Options"),
        ("first", {"n": 1}, "first takes no options"),
        (
            "nth",
            PluginOptions({"n": "x", "label": "x"}, {"n": "m.toml [plugins.nth]"}),
            r"option n of plugin nth from m.toml \[plugins.nth\] = 'x'",
        ),
    ],
)
def test_bad_options_name_the_plugin_and_the_option(choice, options, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        manager().create("selector", choice, options)


def test_classes_functions_objects_and_paths_stand_for_themselves() -> None:
    plugins = manager()
    ready = First()
    assert plugins.create("selector", ready) is ready
    assert type(plugins.create("selector", First)) is First
    assert type(plugins.create("selector", lambda: ready)) is First
    assert type(plugins.create("selector", "acme_selectors:First")) is First
    assert plugins.create("selector", (Nth, {"label": "x"})).options.label == "x"


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (dict, "dict is no QueueSelector but a dict"),
        (object(), "object is no QueueSelector"),
        ("nothing", "nothing is no QueueSelector but a dict"),
        ("acme_selectors:Missing", "'acme_selectors:Missing' cannot be loaded: AttributeError"),
        ("no_such_module_at_all:x", "ModuleNotFoundError"),
        (("first", "second", "third"), "is no QueueSelector"),
    ],
)
def test_what_does_not_implement_the_interface_is_refused(choice, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        manager().create("selector", choice)


def test_an_object_takes_no_options() -> None:
    with pytest.raises(PluginError, match="is an object already"):
        manager().create("selector", First(), {"n": 1})


@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [
        ("allocation", "averagely_by_circle", "pip install mqframe-plugin-averagelybycircle"),
        ("allocation", "by_config", "pip install mqframe-plugin-byconfig"),
        ("allocation", "machine_room", "pip install mqframe-plugin-machineroom"),
        ("allocation", "machine_room_nearby", "pip install mqframe-plugin-machineroomnearby"),
        ("allocation", "consistent_hash", "pip install mqframe-plugin-consistenthash"),
        ("selector", "monotonic", "pip install mqframe-plugin-selectors"),
        ("offset_store", "sqlite", "pip install mqframe-plugin-offsetstore"),
        ("dispatcher", "parquet", "pip install mqframe-plugin-spark"),
    ],
)
def test_a_name_that_is_not_installed_gives_the_line_to_install_it(kind: str, name: str, line: str) -> None:
    with pytest.raises(PluginError) as caught:
        manager().create(kind, name)
    assert str(caught.value).endswith(line)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(
        PluginError,
        match=r"no selector 'frist'; did you mean first\? known: first, hash, nothing, nth; can be inst",
    ):
        manager().create("selector", "frist")
    with pytest.raises(PluginError, match=r"no send_hook 'x'; known: none is installed"):
        manager().create("send_hook", "x")
    with pytest.raises(PluginError, match=r"no plugin kind 'selektor'; kinds: allocation, .*selector"):
        manager().create("selektor", "first")


def test_double_names_fail_with_both_distributions() -> None:
    plugins = manager(entry("selector.first", distribution="other-selectors"))
    wanted = r"'first' is offered by acme-selectors 1.0 and other-selectors 1.0"
    with pytest.raises(PluginError, match=wanted):
        plugins.create("selector", "first")
    assert plugins.create("selector", "nth", {"label": "x"})
    plugins.block("other_selectors")
    assert plugins.create("selector", "first")


def test_a_name_that_the_plugin_does_not_give_is_an_error() -> None:
    with pytest.raises(
        PluginError, match="register_queue_selectors of acme_selectors registers first, nothing, nth"
    ):
        manager(entry("selector.last")).create("selector", "last")


def test_blocked_names_are_gone() -> None:
    plugins = manager()
    plugins.block("selector.first")
    assert plugins.names("selector") == ["hash", "nothing", "nth"]
    with pytest.raises(PluginError, match="'first' is blocked"):
        plugins.create("selector", "first")


def test_what_this_project_has_and_is_not_installed_is_known_by_its_distributions() -> None:
    compiled = {"mqframe-speedups"}  # which is installed only where somebody has built it
    assert PluginManager().not_installed() <= compiled
    blocked = without("mqframe-plugin-sql92")
    blocked.block("mqframe-plugin-selectors")
    assert blocked.not_installed() - compiled == {"mqframe-plugin-sql92"}
    assert manager().not_installed() >= {"mqframe-plugin-sql92", "mqframe-plugin-selectors"}


def test_registered_plugins_are_found_beside_installed_ones() -> None:
    class Mine:
        @hookimpl
        def register_send_hooks(self):
            return {"trace": SendHook}

        @hookimpl
        def register_queue_selectors(self):
            return {"mine": First}

    plugins = manager()
    plugins.register(Mine(), "mine")
    assert type(plugins.create("send_hook", "trace")) is SendHook
    assert plugins.names("selector") == ["first", "hash", "mine", "nothing", "nth"]
    with pytest.raises(PluginError, match="mine cannot be registered"):
        plugins.register(Mine(), "mine")
    with pytest.raises(PluginError, match="implements none of the hooks"):
        plugins.register(object(), "empty")


def test_kinds_of_later_versions_are_passed_over() -> None:
    plugins = manager(entry("teleport.x"), entry("selector"))
    assert plugins.names("selector") == ["first", "hash", "nothing", "nth"]
    assert "teleport" not in {info.kind for info in plugins.installed()}


def test_a_misspelt_kind_is_listed_with_its_problem_and_stops_nothing(acme) -> None:
    plugins = manager(entry("alocation.x", distribution="acme-shares"))
    [listed] = [info for info in plugins.installed(options=True) if info.distribution == "acme-shares"]
    problem = "there is no plugin kind 'alocation'; did you mean allocation?"
    assert listed == PluginInfo("alocation", "x", "acme-shares", "1.0", problem=problem)
    assert plugins.create("selector", "first")
    plugins.block("acme-shares")
    assert "alocation" not in {info.kind for info in plugins.installed()}


def test_options_are_described_on_request() -> None:
    described = {info.name: info.options for info in manager().installed(options=True)}
    assert [(o.name, o.type, o.default, o.doc) for o in described["nth"]] == [
        ("n", "int", "0", "index of the queue"),
        ("label", "str", "", "any text"),
    ]
    assert described["first"] == ()


def test_arguments_go_before_the_options() -> None:
    class Needs(First):
        Options = Nth.Options

        def __init__(self, context, options):
            self.got = (context, options)

    made = manager().create("selector", Needs, {"label": "x"}, "context")
    assert made.got == ("context", Nth.Options(label="x"))


@pytest.mark.parametrize("problem", [ImportError("no pyarrow"), RuntimeError("no room"), OSError("no disk")])
def test_a_factory_that_cannot_make_its_object_is_named(problem: Exception) -> None:
    class Fails(First):
        def __init__(self):
            raise problem

    wanted = f"Fails cannot be made: {type(problem).__name__}: {problem}"
    with pytest.raises(PluginError, match=wanted):
        manager().create("selector", Fails)


def test_a_choice_can_be_checked_before_its_object_is_made() -> None:
    plugins = manager()
    plugins.check("selector", "nth", {"label": "x"})
    plugins.check("selector", ("nth", {"label": "x"}))
    plugins.check("selector", First())
    with pytest.raises(SettingError, match="needs the option label"):
        plugins.check("selector", "nth")
    with pytest.raises(PluginError, match="pip install mqframe-plugin-selectors"):
        plugins.check("selector", "monotonic")


def test_tuples_for_hot_paths() -> None:
    ready = First()
    made = manager().configured({"nth": {"label": "x"}}).create_all("selector", ["nth", ready])
    assert isinstance(made, tuple)
    assert made[0].options.label == "x"
    assert made[1] is ready


def test_the_installed_distributions_of_this_workspace_are_found() -> None:
    found = {(info.kind, info.name): info.distribution for info in PluginManager().installed()}
    assert found["allocation", "consistent_hash"] == "mqframe-plugin-consistenthash"
    assert isinstance(PluginManager().create("allocation", "consistent_hash"), AllocationStrategy)


def test_what_the_kernel_brings_is_found_like_any_plugin() -> None:
    plugins = PluginManager(list)
    found = {f"{info.kind}.{info.name}": info for info in plugins.installed(options=True)}
    assert {"message_filter.TAG", "codec.json"} <= set(found)
    assert {(info.distribution, info.problem) for info in found.values()} == {("mqframe", "")}
    plugins.block("message_filter.TAG")
    with pytest.raises(PluginError, match="message_filter 'TAG' is blocked"):
        plugins.create("message_filter", "TAG")


def test_a_hook_that_fails_stops_only_who_chose_it_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("acme_failing")

    @hookimpl
    def register_queue_selectors():
        raise RuntimeError("no licence")

    module.register_queue_selectors = register_queue_selectors
    monkeypatch.setitem(sys.modules, "acme_failing", module)
    plugins = manager(entry("selector.failing", "acme_failing", "acme-failing"))
    wanted = r"failing of acme-failing 1.0: register_queue_selectors failed: RuntimeError: no licence"
    with pytest.raises(PluginError, match=wanted):
        plugins.create("selector", "failing")
    assert plugins.create("selector", "first")
    (told,) = [info.problem for info in plugins.installed(options=True) if info.name == "failing"]
    assert "no licence" in told


def test_a_module_that_ends_the_program_is_broken(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme_script.py").write_text("import sys\nsys.exit(9)\n")
    monkeypatch.syspath_prepend(tmp_path)
    plugins = manager(entry("selector.script", "acme_script", "acme-script"))
    with pytest.raises(PluginError, match=r"acme-script 1.0 cannot be loaded: SystemExit: 9"):
        plugins.create("selector", "script")
    with pytest.raises(PluginError, match="'acme_script:First' cannot be loaded: SystemExit: 9"):
        plugins.create("selector", "acme_script:First")


def test_options_that_cannot_be_described_are_a_problem_of_their_plugin_alone() -> None:
    class Odd(First):
        @attrs.define
        class Options:
            n: "NoSuchClass" = 1  # noqa: F821

    class Mine:
        @hookimpl
        def register_queue_selectors(self):
            return {"odd": Odd}

    plugins = manager()
    plugins.register(Mine(), "mine")
    found = {info.name: info for info in plugins.installed(options=True) if info.kind == "selector"}
    assert found["odd"].problem == "options cannot be read: NameError: name 'NoSuchClass' is not defined"
    assert found["first"].problem == ""


@pytest.mark.parametrize("given", [["first"], 7])
def test_a_hook_that_gives_no_factories_is_broken(given, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("acme_odd")

    @hookimpl
    def register_queue_selectors():
        return given

    module.register_queue_selectors = register_queue_selectors
    monkeypatch.setitem(sys.modules, "acme_odd", module)
    with pytest.raises(PluginError, match="register_queue_selectors failed"):
        manager(entry("selector.odd", "acme_odd")).create("selector", "odd")


def test_a_hook_that_does_not_exist_for_pluggy_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("acme_wrong")

    @hookimpl
    def register_queue_selectors(argument):
        return {}

    module.register_queue_selectors = register_queue_selectors
    monkeypatch.setitem(sys.modules, "acme_wrong", module)
    plugins = manager(entry("selector.wrong", "acme_wrong"))
    with pytest.raises(PluginError, match="cannot be registered") as caught:
        plugins.create("selector", "wrong")
    assert "\n" not in str(caught.value)
    assert plugins.create("selector", "first")


def test_a_registration_that_fails_leaves_nothing_behind() -> None:
    class Mine:
        broken = True

        @hookimpl
        def register_queue_selectors(self):
            if self.broken:
                raise RuntimeError("not yet")
            return {"mine": First}

    plugins, mine = manager(), Mine()
    with pytest.raises(PluginError, match="mine: register_queue_selectors failed: RuntimeError: not yet"):
        plugins.register(mine, "mine")
    assert "mine" not in plugins.names("selector")
    mine.broken = False
    plugins.register(mine, "mine")
    assert type(plugins.create("selector", "mine")) is First


def test_only_the_chosen_plugin_is_asked(acme: list[str]) -> None:
    class Other:
        asked = 0

        @hookimpl
        def register_queue_selectors(self):
            self.asked += 1
            return {"other": First}

    plugins, other = manager(), Other()
    plugins.register(other, "other")
    plugins.create("selector", "first")
    assert (other.asked, acme) == (1, ["register"])


def test_a_factory_that_asks_is_handed_the_manager_that_makes_it() -> None:
    class Outer(First):
        def __init__(self, options, *, plugins):
            self.inner = plugins.create("selector", options.label)

        Options = Nth.Options

    plugins = manager()
    made = plugins.create("selector", Outer, {"label": "first"})
    assert type(made.inner) is First
    plugins.block("selector.first")
    with pytest.raises(PluginError, match="'first' is blocked"):
        plugins.create("selector", Outer, {"label": "first"})


def test_a_factory_may_be_named_by_its_place() -> None:
    class Mine:
        @hookimpl
        def register_queue_selectors(self):
            return {"mine": "acme_selectors:First", "gone": "acme_selectors:Missing"}

    plugins = manager()
    plugins.register(Mine(), "mine")
    assert type(plugins.create("selector", "mine")) is First
    with pytest.raises(PluginError, match="acme_selectors:Missing"):
        plugins.create("selector", "gone")
