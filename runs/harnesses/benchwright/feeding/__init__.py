"""Where cells come from: leased shards, their rows, and what earlier workers left of them."""
