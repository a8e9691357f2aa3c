"""Land: bytes as an upstream gave them become immutable snapshots."""
