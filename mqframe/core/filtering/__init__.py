"""Message filters: tags, SQL92 expressions, and the tables that brokers keep of them."""
