-- A task, a session or an agent belongs to a project, its home: `task/42` of one project lies on another shelf than that of
-- another. A shelf's `scope` then begins with its home and two slashes, which no scope that a caller names can hold; so the
-- shelves stay unique, and a process of the version before, which knows no homes, finds none of them.
ALTER TABLE shelves ADD COLUMN named TEXT NOT NULL
  AS (CASE instr(scope, '//') WHEN 0 THEN scope ELSE substr(scope, instr(scope, '//') + 2) END);   -- as callers write it
ALTER TABLE shelves ADD COLUMN home TEXT
  AS (CASE instr(scope, '//') WHEN 0 THEN NULL ELSE substr(scope, 1, instr(scope, '//') - 1) END);

-- Whose tasks the tasks of an older store are is found out once, when it is opened (remember/homes.py); a new one has none.
INSERT INTO settings SELECT 'homes', 'told' WHERE NOT EXISTS (SELECT 1 FROM records);
