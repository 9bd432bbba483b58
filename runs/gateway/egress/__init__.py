"""The gateway's side of the egress proxy: which sandbox may reach which host, and what is attached to its requests."""
