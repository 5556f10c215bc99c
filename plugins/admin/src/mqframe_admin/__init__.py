"""Administration: what operators ask brokers and name servers, and change there."""
