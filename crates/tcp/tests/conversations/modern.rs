//! What only a modern endpoint does.
