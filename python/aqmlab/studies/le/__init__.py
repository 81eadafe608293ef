"""What the studies of Le, Aikat, Jeffay and Smith share."""
