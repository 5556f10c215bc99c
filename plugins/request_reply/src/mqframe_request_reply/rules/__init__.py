"""Rules of requests and replies: values in, values out."""
