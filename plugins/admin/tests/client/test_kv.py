"""Administration of values that name servers hold."""


def test_values_of_the_name_server(admin):
    assert admin.kv.get("ns", "k") is None
    assert admin.kv.list("ns") == {}
    admin.kv.put("ns", "k", "v")
    assert admin.kv.get("ns", "k") == "v"
    assert admin.kv.list("ns") == {"k": "v"}
    admin.kv.delete("ns", "k")
    assert admin.kv.get("ns", "k") is None
