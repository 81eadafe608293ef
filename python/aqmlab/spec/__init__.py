"""What a person describes: an experiment and its parts, and what may be typed for them."""
