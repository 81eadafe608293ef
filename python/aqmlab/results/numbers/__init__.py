"""Named numbers of results: long frames, tables, and differences between stores."""
