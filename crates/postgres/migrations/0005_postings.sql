-- A keyword search then reads counts and lengths from the index alone, instead of one page of the table for each row.
ALTER TABLE postings DROP CONSTRAINT postings_pkey;
ALTER TABLE postings ADD PRIMARY KEY (workspace_id, kind, word, id) INCLUDE (count, length);
