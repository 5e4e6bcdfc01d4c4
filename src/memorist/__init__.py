"""memorist: a memory engine for LLM agents."""
