"""The second reading of the papers: its words, the numbers and curves they are about, what becomes of a claim."""
