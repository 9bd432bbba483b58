"""Which benchmark and which part of it a request names."""
