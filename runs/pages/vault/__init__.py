"""The pages of secrets and of the host policy. They stand here, above the vault, since they speak of runs."""
