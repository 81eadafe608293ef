"""The reference pages, docs/reference: text from the code, figures from the objects, nothing written by hand."""
