"""Users for a load: the fitted lines, and the cells that measure them."""
