"""Everything the engine knows about text as text.

Small modules, none of which knows about memories, stores or models: `words` turns text into search tokens and cuts it
into chunks, `bm25` ranks by them, `tokens` estimates what a text costs a model, `twins` says when two texts are the
same, and `visible` decides what may be stored and what may be printed. All are pure functions of their arguments, so
that the store, the surfaces and the tests can rely on one answer.
"""
