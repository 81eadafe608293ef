"""Queue disciplines: those the engine knows, one driven packet by packet, and laws written in Python."""
