"""A tenant's ontology: its versions, the change sets that propose the next one, and the jobs that apply it to pages."""
