"""The console: pages for operators, rendered here from the services that the API uses."""
