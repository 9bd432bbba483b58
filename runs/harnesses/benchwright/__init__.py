"""Our own harness: extract, solve and score in three sandboxes, the model behind the gateway."""
