-- What lists of documents are sorted and filtered by. The database reads both from the bodies, so that programs of an older release
-- that still run keep them right too.
ALTER TABLE documents ADD COLUMN text_bytes bigint
    GENERATED ALWAYS AS (substring(body FROM '"text_bytes":([0-9]+)')::bigint) STORED;
ALTER TABLE jobs ADD COLUMN state text COLLATE "C"
    GENERATED ALWAYS AS (substring(body FROM '"state":[{]"state":"([a-z]+)"')) STORED;

CREATE INDEX ON documents (workspace_id, text_bytes, id);
-- The chunks that make a document incomplete; there are few.
CREATE INDEX ON chunks (workspace_id, document)
    WHERE extraction LIKE '{"state":"failed"%' OR extraction LIKE '{"state":"damaged"%';
CREATE INDEX ON situations (workspace_id, chunk) WHERE failed;
