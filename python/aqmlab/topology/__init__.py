"""Who sends what over which links, and how that is drawn."""
