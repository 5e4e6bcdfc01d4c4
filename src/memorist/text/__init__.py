"""Everything the engine knows about text as text.

No module here knows about memories, stores or models: `words` turns text into search tokens and cuts it into chunks, `bm25`
ranks by them, `tokens` estimates what a text costs a model, `question` finds the question in a prompt, `dates` and
`calendar` the times it speaks of, `claims` what a text states, `twins` says when two texts are the same or say the same,
and `visible` decides what may be stored and what may be printed. All are pure functions of their
arguments, so that the store, the surfaces and the tests can rely on one answer.
"""
