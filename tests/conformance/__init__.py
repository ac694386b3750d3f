"""What others wrote to judge MCP servers, run against the gateway: the conformance suite and the inspector."""
