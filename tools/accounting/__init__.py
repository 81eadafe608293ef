"""The page docs/studies/accounting.md: consistency of the papers' loss and delay, and of ours."""
