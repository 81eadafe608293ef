"""Forms of new experiments: fields from the schema, the TOML beside them, checks, and requests for jobs."""
