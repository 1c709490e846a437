"""The console: pages for operators, rendered here and read with the functions that the API reads with."""
