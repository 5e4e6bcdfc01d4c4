"""How a text becomes a memory: one gate, through which every surface, importer and job goes."""
