"""A tenant's ontology: its versions, the change sets that propose the next one, and the jobs that bring pages to it."""
