"""Files of a store: drafts, checksums, the marker, and object stores."""
