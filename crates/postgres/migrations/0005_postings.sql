-- A search by words reads counts and lengths from the index alone, in place of a page of the table for each row.
ALTER TABLE postings DROP CONSTRAINT postings_pkey;
ALTER TABLE postings ADD PRIMARY KEY (workspace_id, kind, word, id) INCLUDE (count, length);
