"""The processors and the memory that cells may use."""
