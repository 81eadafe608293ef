"""Settings tried in a space of parameters: which serve best, and which matter."""
