"""Storage of memories. `protocol.py` says what a store does; every store passes `memorist.testing.StoreContract`."""
