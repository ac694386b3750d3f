"""Programs: the sandbox, signatures, shapes."""
