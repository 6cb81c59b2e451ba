-- Workspaces and everything in them. Keys compare by their bytes, as in every other store. Bodies are JSON in text
-- columns: json and jsonb columns cannot hold every character that a document can.

CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE workspaces (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    revision bigint NOT NULL DEFAULT 0,
    graph_revision bigint NOT NULL DEFAULT 0,
    -- The last revision that changed the link graph.
    links_revision bigint NOT NULL DEFAULT 0,
    embedding_model text,
    embedding_dimensions integer,
    settings text NOT NULL DEFAULT '{}',
    queue text NOT NULL DEFAULT '{"queue":"running"}',
    -- How many ledger rows and cache entries have ever been written.
    calls bigint NOT NULL DEFAULT 0,
    cache_puts bigint NOT NULL DEFAULT 0
);

-- The latest commits by token. After a lost reply, a client looks here to see if its commit was applied.
CREATE TABLE commits (
    workspace_id bigint NOT NULL,
    token uuid NOT NULL,
    revision bigint NOT NULL,
    PRIMARY KEY (workspace_id, token)
);
CREATE INDEX ON commits (workspace_id, revision);

CREATE TABLE documents (
    workspace_id bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    content_hash text COLLATE "C" NOT NULL,
    live boolean NOT NULL,
    added_at bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
-- An index entry cannot hold a long source, so the index covers its start.
CREATE INDEX ON documents (workspace_id, left(source, 256), id);
CREATE INDEX ON documents (workspace_id, content_hash);
CREATE INDEX ON documents (workspace_id, added_at, id);

CREATE TABLE texts (
    workspace_id bigint NOT NULL,
    document text COLLATE "C" NOT NULL,
    text bytea NOT NULL,
    PRIMARY KEY (workspace_id, document)
);
-- Not compressed, so a chunk can be read without the rest of its document.
ALTER TABLE texts ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE jobs (
    workspace_id bigint NOT NULL,
    document text COLLATE "C" NOT NULL,
    is_open boolean NOT NULL,
    lease_until bigint,
    created_at bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, document)
);
CREATE INDEX ON jobs (workspace_id, created_at, document) WHERE is_open;
CREATE INDEX ON jobs (workspace_id, document) WHERE lease_until IS NOT NULL;

CREATE TABLE tracks (
    workspace_id bigint NOT NULL,
    track text COLLATE "C" NOT NULL,
    document text COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace_id, track, document)
);
CREATE INDEX ON tracks (workspace_id, document, track);

CREATE TABLE chunks (
    workspace_id bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    document text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    span_start bigint NOT NULL,
    span_end bigint NOT NULL,
    -- True if its document is live.
    live boolean NOT NULL,
    extraction text NOT NULL,
    extraction_key text COLLATE "C",
    body text NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX ON chunks (workspace_id, document, ordinal);
CREATE INDEX ON chunks (workspace_id, extraction_key) WHERE extraction_key IS NOT NULL;

CREATE TABLE renewals (
    workspace_id bigint NOT NULL,
    chunk text COLLATE "C" NOT NULL,
    extraction_key text COLLATE "C",
    body text NOT NULL,
    PRIMARY KEY (workspace_id, chunk)
);
CREATE INDEX ON renewals (workspace_id, extraction_key) WHERE extraction_key IS NOT NULL;

CREATE TABLE situations (
    workspace_id bigint NOT NULL,
    chunk text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    author text COLLATE "C" NOT NULL,
    failed boolean NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, chunk)
);
CREATE INDEX ON situations (workspace_id, key, chunk);

CREATE TABLE extractions (
    workspace_id bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    is_empty boolean NOT NULL,
    -- The reasons why records were rejected, separated by spaces.
    rejects text NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, key)
);

CREATE TABLE mentions (
    workspace_id bigint NOT NULL,
    chunk text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    entity text COLLATE "C" NOT NULL,
    set_aside boolean NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, chunk, ordinal)
);
CREATE INDEX ON mentions (workspace_id, entity, chunk, ordinal);

CREATE TABLE facts (
    workspace_id bigint NOT NULL,
    chunk text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    a text COLLATE "C" NOT NULL,
    b text COLLATE "C" NOT NULL,
    set_aside boolean NOT NULL,
    weight double precision NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, chunk, ordinal)
);
CREATE INDEX ON facts (workspace_id, a, b);
CREATE INDEX ON facts (workspace_id, b);

CREATE TABLE decisions (
    workspace_id bigint NOT NULL,
    place bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, place, id)
);

CREATE TABLE entities (
    workspace_id bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    degree bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, key)
);

CREATE TABLE relations (
    workspace_id bigint NOT NULL,
    a text COLLATE "C" NOT NULL,
    b text COLLATE "C" NOT NULL,
    weight double precision NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, a, b)
);
CREATE INDEX ON relations (workspace_id, b);

-- Kind 1 is a relation; for an entity, b is empty.
CREATE TABLE summaries (
    workspace_id bigint NOT NULL,
    kind smallint NOT NULL,
    a text COLLATE "C" NOT NULL,
    b text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    text bytea NOT NULL,
    PRIMARY KEY (workspace_id, kind, a, b, key)
);

CREATE TABLE stale (
    workspace_id bigint NOT NULL,
    kind smallint NOT NULL,
    a text COLLATE "C" NOT NULL,
    b text COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace_id, kind, a, b)
);

-- Every store rounds vectors to the same whole numbers, which half precision represents exactly.
CREATE TABLE vectors (
    workspace_id bigint NOT NULL,
    kind smallint NOT NULL,
    id text COLLATE "C" NOT NULL,
    inputs_hash text COLLATE "C" NOT NULL,
    length real NOT NULL,
    codes halfvec NOT NULL,
    PRIMARY KEY (workspace_id, kind, id)
);
-- Stored in the row, so a scan reads each page once.
ALTER TABLE vectors ALTER COLUMN codes SET STORAGE PLAIN;

-- Full text for BM25: the length of each entry in words (rounded), the words of each entry, and the totals.
CREATE TABLE entries (
    workspace_id bigint NOT NULL,
    kind smallint NOT NULL,
    id text COLLATE "C" NOT NULL,
    length bigint NOT NULL,
    PRIMARY KEY (workspace_id, kind, id)
);

CREATE TABLE postings (
    workspace_id bigint NOT NULL,
    kind smallint NOT NULL,
    word text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    count integer NOT NULL,
    length integer NOT NULL,
    PRIMARY KEY (workspace_id, kind, word, id)
);
CREATE INDEX ON postings (workspace_id, kind, id);

CREATE TABLE totals (
    workspace_id bigint NOT NULL,
    kind smallint NOT NULL,
    entries bigint NOT NULL,
    words bigint NOT NULL,
    PRIMARY KEY (workspace_id, kind)
);

CREATE TABLE calls (
    workspace_id bigint NOT NULL,
    place bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, place)
);

CREATE TABLE cache (
    workspace_id bigint NOT NULL,
    kind smallint NOT NULL,
    key text COLLATE "C" NOT NULL,
    place bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (workspace_id, kind, key)
);
CREATE INDEX ON cache (workspace_id, kind, place);

CREATE TABLE layers (
    workspace_id bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, name)
);

CREATE TABLE nodes (
    workspace_id bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    layer text COLLATE "C" NOT NULL,
    level bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, key)
);
CREATE INDEX ON nodes (workspace_id, layer, level, key);

-- The chunks, entities and nodes that belong to each node.
CREATE TABLE members (
    workspace_id bigint NOT NULL,
    kind smallint NOT NULL,
    member text COLLATE "C" NOT NULL,
    node text COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace_id, kind, member, node)
);
CREATE INDEX ON members (workspace_id, node);

-- A second guard besides the condition of every query: a transaction cannot see the rows of other workspaces.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'commits', 'documents', 'texts', 'jobs', 'tracks', 'chunks', 'renewals', 'situations', 'extractions', 'mentions',
        'facts', 'decisions', 'entities', 'relations', 'summaries', 'stale', 'vectors', 'entries', 'postings', 'totals',
        'calls', 'cache', 'layers', 'nodes', 'members'
    ] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY of_workspace ON %I USING (workspace_id = nullif(current_setting(''graphloom.workspace'', true), '''')::bigint)',
            name
        );
    END LOOP;
END
$$;
