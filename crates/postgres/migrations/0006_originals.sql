-- The original files of documents. Not compressed, since most file formats already are.
CREATE TABLE originals (
    workspace_id bigint NOT NULL,
    document text COLLATE "C" NOT NULL,
    hash text COLLATE "C" NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (workspace_id, document)
);
ALTER TABLE originals ALTER COLUMN bytes SET STORAGE EXTERNAL;
ALTER TABLE originals ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_workspace ON originals
    USING (workspace_id = nullif(current_setting('graphloom.workspace', true), '')::bigint);
