"""Pages: each asks the cluster, and returns what is shown."""
