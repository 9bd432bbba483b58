"""What the engine tells while it works: the heartbeat with its ceilings, and the words of what it waits for."""
