"""What clients can be told: sections of a configuration, and how clients are made from them."""
