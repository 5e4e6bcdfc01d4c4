"""The founding documents' own tools, under the names they gave them, over one `Memory`.

Someone who read such a document finds its words here; what they do is what the verbs of `Memory` do.
"""

from memorist.seeds import curated
from memorist.seeds.hebbian import Hebbian
from memorist.seeds.tiers import Tiers

__all__ = ["curated", "hebbian", "tiers"]

hebbian = Hebbian
tiers = Tiers
