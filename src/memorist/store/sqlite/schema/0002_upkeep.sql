-- Upkeep and erasing: runs of jobs that outlive their process (a run holds no text of any memory), and who is whose past.
CREATE TABLE jobs (
  id         INTEGER PRIMARY KEY,
  space      TEXT NOT NULL,
  name       TEXT NOT NULL,
  state      TEXT NOT NULL,     -- running, done or failed
  owner      TEXT NOT NULL,
  lease      INTEGER NOT NULL,  -- until when the owner may go on without a sign of life
  batch      TEXT,
  checkpoint TEXT NOT NULL,
  changed    INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  updated    INTEGER NOT NULL,
  problem    TEXT
) STRICT;
CREATE UNIQUE INDEX jobs_run_once ON jobs (space, name) WHERE state = 'running';

-- The past texts of a memory, which are erased with it; other records cost this index nothing.
CREATE INDEX records_by_head ON records (superseded_by) WHERE superseded_by IS NOT NULL;
