"""Models that give vectors, behind one small port (`embed.py`). Nothing here is imported until somebody needs a vector."""
