"""What a cluster is made of: routes, brokers, topics, groups, clients and name servers."""
