"""Shared parts of the studies of Le, Aikat, Jeffay and Smith."""
