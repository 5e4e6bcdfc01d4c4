-- What comes up by itself is looked for at every question, and is little. The key is looked for as text: it stands so in the one
-- form in which data is stored, and a row whose data was damaged can still be written.
CREATE INDEX records_triggered ON records (shelf) WHERE (instr(ifnull(data, ''), '"triggers":[') > 0) = 1;
