"""The console: a local page on a store's cells, behind a token and bound to this machine."""
