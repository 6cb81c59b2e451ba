CREATE TABLE claims (
    workspace_id bigint NOT NULL,
    chunk text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    subject text COLLATE "C" NOT NULL,
    object text COLLATE "C",
    body text NOT NULL,
    PRIMARY KEY (workspace_id, chunk, ordinal)
);
CREATE INDEX ON claims (workspace_id, subject);
CREATE INDEX ON claims (workspace_id, object) WHERE object IS NOT NULL;
