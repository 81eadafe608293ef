"""Rates of links and the other kinds of capacity in a spec, with the files of traces."""
