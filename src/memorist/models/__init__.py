"""Embedding and language models, behind small ports. Nothing here is imported until it is needed."""
