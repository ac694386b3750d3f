"""Commands over what can be known: tools and servers, documents, databases, APIs, solutions, packs."""
