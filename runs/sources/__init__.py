"""Where rows come from: a locator leads to a place on the network, and a snapshot keeps what was there."""
