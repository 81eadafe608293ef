"""The store: cells on disk, their index, and the results in them."""
