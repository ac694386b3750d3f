"""Commands for each kind of knowledge: servers and tools, documents, databases, APIs, solutions, packs."""
