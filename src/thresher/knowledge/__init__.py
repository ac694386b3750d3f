"""What can be known, one package a kind: tools, intents, documents, databases, apis.

Invariant: the kinds never import each other; each has its own door (`thresher.knowledge.tools`).

Uses: audit, components, confinement, connectors, core, embedding, jobs, llm, openapi, programs, results, scanner, search, servoy, sqlguard, store, upstream.
"""  # noqa: E501 - a test wants the packages in one line
