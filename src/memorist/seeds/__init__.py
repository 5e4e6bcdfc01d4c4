"""The founding documents' own tools, under the names they gave them, over one `Memory`.

Someone who read such a document finds its words here; what they do is what the verbs of `Memory` do.
"""

from memorist.seeds.hebbian import Hebbian

__all__ = ["hebbian"]

hebbian = Hebbian
