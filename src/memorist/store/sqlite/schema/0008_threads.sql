-- The record of a session and the last narrative of one are looked up for every turn and every memory that names the session. Both
-- are few, and the turns of the same session are many.
CREATE INDEX records_of_a_thread ON records (session, kind) WHERE kind = 'narrative' OR kind = 'session';
