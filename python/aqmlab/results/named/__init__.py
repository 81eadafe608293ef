"""Numbers of runs by name: the parser of names, frames and tables of the numbers, whose packets there are."""
