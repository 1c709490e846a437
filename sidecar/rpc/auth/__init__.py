"""Authentication: tokens, public keys, client certificates, and the identity they prove."""
