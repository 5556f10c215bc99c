"""The kinds of schemas: how each is read from what people have, and bodies are held against it."""
