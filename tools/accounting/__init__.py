"""The page docs/studies/accounting.md: the papers held to their own numbers, beside ours."""
