"""What the commands share: the session, output, drawing, failures."""
