"""Users' functions by name."""

import sys

import pytest
from mqframe_spark.jobs.loading import load_function

from mqframe.core.errors import SettingError

SOURCE = """
from somewhere_beside import suffix

NUMBER = 3

def double(frame):
    return frame + frame + suffix

def two(frame, more): ...

def _hidden(frame): ...

class Group:
    @staticmethod
    def inner(frame): return frame
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "my_pipeline.py").write_text(SOURCE)
    (tmp_path / "somewhere_beside.py").write_text("suffix = '!'\n")
    (tmp_path / "broken_syntax.py").write_text("x = 1\ndef f(:\n")
    (tmp_path / "broken_import.py").write_text("import nothing_of_this_name\n")
    (tmp_path / "broken_run.py").write_text("\n\nraise KeyError('boom')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize("where", ["my_pipeline", "my_pipeline.py", "{folder}/my_pipeline.py"])
def test_a_function_is_found_by_module_and_by_file(place, where) -> None:
    found = load_function(f"{where.format(folder=place)}:double")
    assert found("a") == "aa!"


def test_a_function_may_be_in_a_class(place) -> None:
    assert load_function("my_pipeline:Group.inner")("x") == "x"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("my_pipeline", "write module:function or file.py:function"),
        (":double", "write module:function or file.py:function"),
        ("my_pipeline:", "write module:function or file.py:function"),
        ("my_pipeline:triple", "my_pipeline has no function triple; its functions: double, two$"),
        ("my_pipeline:NUMBER", "NUMBER is no function but int"),
        ("my_pipeline:two", r"called with the DataFrame alone, but takes \(frame, more\)"),
        ("no_such_thing:f", "there is no module no_such_thing"),
        ("no_such_package.part:f", "there is no module no_such_package"),
        ("no_such_file.py:f", "there is no file .*no_such_file.py"),
        ("broken_syntax.py:f", r"SyntaxError: .* \(broken_syntax.py, line 2\)"),
        ("broken_import:f", r"No module named 'nothing_of_this_name' \(broken_import.py, line 1\)"),
        ("broken_run.py:f", r"KeyError: 'boom' \(broken_run.py, line 3\)"),
    ],
)
def test_what_is_no_function_is_refused(place, text, said) -> None:
    with pytest.raises(SettingError, match=rf"^pipeline '{text}': .*{said}"):
        load_function(text)


def test_a_file_that_cannot_be_imported_leaves_no_module_behind(place) -> None:
    with pytest.raises(SettingError):
        load_function("broken_run.py:f")
    assert "broken_run" not in sys.modules
