"""What a person sees: the console and the canvas."""
