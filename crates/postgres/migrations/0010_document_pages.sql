-- Lists of documents are sorted and filtered by these columns. The database derives them from the bodies, so they stay correct
-- while programs of an older release still write.
ALTER TABLE documents ADD COLUMN text_bytes bigint
    GENERATED ALWAYS AS (substring(body FROM '"text_bytes":([0-9]+)')::bigint) STORED;
ALTER TABLE jobs ADD COLUMN state text COLLATE "C"
    GENERATED ALWAYS AS (substring(body FROM '"state":[{]"state":"([a-z]+)"')) STORED;

CREATE INDEX ON documents (workspace_id, text_bytes, id);
-- The few chunks that make a document incomplete.
CREATE INDEX ON chunks (workspace_id, document)
    WHERE extraction LIKE '{"state":"failed"%' OR extraction LIKE '{"state":"damaged"%';
CREATE INDEX ON situations (workspace_id, chunk) WHERE failed;
