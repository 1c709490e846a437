"""Clients of MCP servers: their tools, and the bounded transports over HTTP and standard input and output."""
