"""Commands for operators: serve, worker, migrate, embed, token, health, doctor, cost, tools, backends."""
