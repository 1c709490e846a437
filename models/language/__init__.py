"""Language models: requests and answers, and one adapter per provider."""
