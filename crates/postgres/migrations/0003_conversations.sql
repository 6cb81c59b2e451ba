ALTER TABLE workspaces ADD COLUMN last_removal bigint NOT NULL DEFAULT 0;

CREATE TABLE conversations (
    workspace_id bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

-- documents: what the answer is based on; null if it is based on the whole workspace, or if it was removed.
CREATE TABLE exchanges (
    workspace_id bigint NOT NULL,
    conversation text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    is_kept boolean NOT NULL,
    documents text[],
    body text NOT NULL,
    PRIMARY KEY (workspace_id, conversation, ordinal)
);
CREATE INDEX ON exchanges USING gin (documents);
CREATE INDEX ON exchanges (workspace_id) WHERE is_kept AND documents IS NULL;

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['claims', 'conversations', 'exchanges'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY of_workspace ON %I USING (workspace_id = nullif(current_setting(''graphloom.workspace'', true), '''')::bigint)',
            name
        );
    END LOOP;
END
$$;
