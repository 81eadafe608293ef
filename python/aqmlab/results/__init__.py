"""What cells gave: one result, statistics over seeds, and schemes side by side."""
