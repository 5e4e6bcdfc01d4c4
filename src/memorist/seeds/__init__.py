"""The founding documents' own tools, under their original names, over one `Memory`.

Readers of such a document find its terms here; the tools call the verbs of `Memory`.
"""

from memorist.seeds import curated
from memorist.seeds.associative import Associative
from memorist.seeds.hebbian import Hebbian
from memorist.seeds.notebook import Notebook
from memorist.seeds.tiers import Tiers

__all__ = ["associative", "curated", "hebbian", "notebook", "tiers"]

associative = Associative
hebbian = Hebbian
notebook = Notebook
tiers = Tiers
