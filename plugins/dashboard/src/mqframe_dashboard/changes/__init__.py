"""What users may do who signed in: sessions, forms that are posted, and each change with its preview."""
