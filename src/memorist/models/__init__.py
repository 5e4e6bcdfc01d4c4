"""Models that give vectors, behind one small port (`embed.py`). Nothing here is imported until a vector is needed."""
