import pytest
from mqframe_cli.settings.properties_file import parse_properties


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("", []),
        ("# c\n! c\n\n  \na=b", [("a", "b", 5)]),
        ("a = b \nc:d\ne f g\nh", [("a", "b ", 1), ("c", "d", 2), ("e", "f g", 3), ("h", "", 4)]),
        ("a=1\\\n   2\nb=3", [("a", "12", 1), ("b", "3", 3)]),
        ("a=ends with backslash \\\\\nb=1", [("a", "ends with backslash \\", 1), ("b", "1", 2)]),
        ("a\\=b=c\\u0041\\tx", [("a=b", "cA\tx", 1)]),
        ("path=C\\:\\\\data\r\nx==y", [("path", "C:\\data", 1), ("x", "=y", 2)]),
        ("a=1\\", [("a", "1", 1)]),
    ],
)
def test_reads_what_java_reads(text: str, entries: list[tuple[str, str, int]]) -> None:
    assert list(parse_properties(text)) == entries
