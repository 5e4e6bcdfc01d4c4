-- What somebody said about a memory for one question: it is no vote, and holds for questions like that one in that project.
CREATE TABLE lessons (
  id       TEXT PRIMARY KEY,
  space    TEXT NOT NULL,
  home     TEXT NOT NULL,                         -- the project in which it was asked
  record   INTEGER NOT NULL REFERENCES records (number),
  question TEXT NOT NULL,                         -- redacted like every text
  places   TEXT NOT NULL,                         -- JSON: the scopes, with their homes, that the answer came from
  users    INTEGER NOT NULL,                      -- the verdicts of the user, and of all others, in thirds
  others   INTEGER NOT NULL,
  at       INTEGER NOT NULL
) STRICT;
CREATE INDEX lessons_of_a_project ON lessons (space, home, at);
CREATE INDEX lessons_about ON lessons (record);

-- The project in which it was asked: what is learnt from an answer stays there. Older lines do not know it.
ALTER TABLE recalls ADD COLUMN home TEXT;
