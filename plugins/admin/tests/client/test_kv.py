"""Administration of values that name servers hold."""

from mqframe_testing.cluster import Cluster

from mqframe import Admin


def test_values_of_the_name_server(admin):
    assert admin.kv.get("ns", "k") is None
    assert admin.kv.list("ns") == {}
    admin.kv.put("ns", "k", "v")
    assert admin.kv.get("ns", "k") == "v"
    assert admin.kv.list("ns") == {"k": "v"}
    admin.kv.delete("ns", "k")
    assert admin.kv.get("ns", "k") is None


def test_each_name_server_says_what_it_keeps(cluster, admin):
    admin.kv.put("each", "k", "v")
    assert admin.kv.list_each("each") == [{"k": "v"}]
    with Cluster() as other, Admin(nameserver=f"{cluster.nameserver};{other.nameserver}") as both:
        assert both.kv.list_each("each") == [{"k": "v"}, {}]
        both.kv.put("each", "k", "w")
        assert both.kv.list_each("each") == [{"k": "w"}, {"k": "w"}]
