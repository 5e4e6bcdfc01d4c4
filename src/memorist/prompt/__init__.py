"""How memories enter a prompt: within a budget that is counted on the very text that is handed out."""
