"""Messages of the contract made from values, and values read from messages. Nothing here asks the store."""
