"""Output for people: tables, messages, figures and output files."""
