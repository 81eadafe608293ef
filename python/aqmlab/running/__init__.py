"""From an experiment to results on disk: cells, what runs them, and the directory that keeps them."""
