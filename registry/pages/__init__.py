"""The pages of the catalogue, as plain values for their templates. The views are the door."""
