"""The page docs/guide/tcp-conversations.md: the simulator's TCP and the Linux kernel's, segment by segment."""
