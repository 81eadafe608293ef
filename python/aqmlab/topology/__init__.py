"""The topology of an experiment: links, senders and their paths, as drawings and tables."""
