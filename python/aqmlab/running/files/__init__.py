"""What a store is made of, beside the cells: drafts, and an index."""
