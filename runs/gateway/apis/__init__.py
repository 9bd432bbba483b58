"""The endpoints that scorers may call: what may be asked there, how it goes to a provider, and how answers are read."""
