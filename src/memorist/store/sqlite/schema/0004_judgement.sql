-- What was put into a prompt, so that a receipt shows the exact text again; and what waits for somebody's decision.
ALTER TABLE recalls ADD COLUMN rendered TEXT;   -- JSON; of a context only
CREATE INDEX recalls_rendered ON recalls (at) WHERE rendered IS NOT NULL;   -- long lines; fewer of them are kept
CREATE INDEX recalls_by_time ON recalls (at);

-- What is pinned, and what a prompt always shows, is looked up for every prompt, and is little.
CREATE INDEX records_pinned ON records (shelf) WHERE pinned = 1;
CREATE INDEX records_always_shown ON records (shelf, kind)
  WHERE kind = 'convention' OR kind = 'summary' OR kind = 'narrative';

-- A job in state 'asks' holds a question until it is decided; then the question goes.
ALTER TABLE jobs ADD COLUMN question TEXT;      -- JSON, redacted like every text
CREATE INDEX jobs_that_ask ON jobs (space) WHERE state = 'asks';

-- What a memory makes a claim about, so that a write finds what may contradict it without searching. It depends on the text
-- alone; whether the memory is active, and where it lies, its row knows.
CREATE TABLE topics (
  topic  INTEGER NOT NULL,
  record INTEGER NOT NULL REFERENCES records (number),
  PRIMARY KEY (topic, record)
) STRICT, WITHOUT ROWID;
