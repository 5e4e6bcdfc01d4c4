"""How memories enter a prompt: within a budget that is counted on the rendered text."""
