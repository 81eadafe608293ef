"""The live laboratory: the same experiments over the TCP of a kernel."""
