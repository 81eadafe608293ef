"""What tests need and no run has given: results, stores and pages that were made up, a module a subject."""
