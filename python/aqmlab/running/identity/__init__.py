"""The identity of cells: columns that tell them apart, what specs differ in, and which cells are asked for."""
