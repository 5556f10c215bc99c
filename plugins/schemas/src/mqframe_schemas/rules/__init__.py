"""Which schema may follow which, and what name servers keep of them: values in, values out."""
