"""One module per upstream: how to fetch it, and nothing about what its bytes mean."""
