"""Connections: a model endpoint or a compute backend, set up once under a name, with the secret that opens it."""
