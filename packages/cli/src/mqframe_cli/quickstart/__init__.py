"""`mqframe quickstart`: the whole system on one machine, on real data, checked against plain Python."""
