"""The page docs/guide/kernel-laws.md: our queue disciplines against the Linux kernel's, fate by fate."""
