"""Queue disciplines: the engine's catalogue, a discipline driven packet by packet, and custom laws in Python."""
