"""Language models: what is asked and answered, and an adapter per provider."""
