"""The page docs/guide/judges.md: our page, HTTP/2, QUIC and video models against real programs in virtual time."""
