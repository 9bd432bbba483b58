"""The model gateway: a process of its own between scorer code and model providers. See docs/gateway.md."""
