"""Clients of MCP servers: their tools, and the bounded HTTP transport."""
