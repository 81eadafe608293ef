"""Claims of papers: predicates, the quantities that they compare, outcomes, and the registered first reading."""
