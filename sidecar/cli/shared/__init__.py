"""Code shared by the commands: session, output, drawing, failures."""
