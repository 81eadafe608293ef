"""Results as one file to pass on: a page that a browser shows without a network."""
