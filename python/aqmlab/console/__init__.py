"""The console: local pages about a store, protected by a token and bound to this machine."""
