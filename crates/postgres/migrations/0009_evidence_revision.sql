ALTER TABLE workspaces
    -- The last revision that changed documents, their jobs or chunks, or the graph.
    ADD COLUMN evidence_revision bigint NOT NULL DEFAULT 0;
UPDATE workspaces SET evidence_revision = revision;
