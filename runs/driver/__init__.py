"""Who authors a run: reads the request, looks at the rows, writes the scorer. Never the model under test."""
