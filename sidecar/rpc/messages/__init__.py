"""Messages of the contract made from values, and values read from messages. Nothing here reads the store."""
