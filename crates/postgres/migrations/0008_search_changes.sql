-- Processes keep what searches read in memory, and update it from this log of changes.
ALTER TABLE workspaces
    -- The last revision that changed what searches read, and the last one that was not logged.
    ADD COLUMN search_revision bigint NOT NULL DEFAULT 0,
    ADD COLUMN search_unnoted bigint NOT NULL DEFAULT 0;
UPDATE workspaces SET search_revision = revision, search_unnoted = revision;

CREATE TABLE search_changes (
    workspace_id bigint NOT NULL,
    revision bigint NOT NULL,
    kind smallint NOT NULL,
    id text COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace_id, kind, revision, id)
);
CREATE INDEX ON search_changes (workspace_id, revision);
ALTER TABLE search_changes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_workspace ON search_changes
    USING (workspace_id = nullif(current_setting('graphloom.workspace', true), '')::bigint);
