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
    -- Ledger rows and cache entries ever put.
    calls bigint NOT NULL DEFAULT 0,
    cache_puts bigint NOT NULL DEFAULT 0
);

-- The latest commits by token: whether a commit whose answer was lost has been applied.
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
-- A source may be longer than an index entry.
CREATE INDEX ON documents (workspace_id, left(source, 256), id);
CREATE INDEX ON documents (workspace_id, content_hash);
CREATE INDEX ON documents (workspace_id, added_at, id);

CREATE TABLE texts (
    workspace_id bigint NOT NULL,
    document text COLLATE "C" NOT NULL,
    text bytea NOT NULL,
    PRIMARY KEY (workspace_id, document)
);
-- Not compressed, so that a chunk is read without the rest of its document.
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
    -- Whether the document is.
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
    -- The reason of each reject, separated by spaces.
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

-- Of an entity, b is empty; of a relation, kind is 1.
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

-- The whole numbers that every store rounds vectors to; half precision holds them exactly.
CREATE TABLE vectors (
    workspace_id bigint NOT NULL,
    kind smallint NOT NULL,
    id text COLLATE "C" NOT NULL,
    inputs_hash text COLLATE "C" NOT NULL,
    length real NOT NULL,
    codes halfvec NOT NULL,
    PRIMARY KEY (workspace_id, kind, id)
);
-- Inside the row, so that a scan reads each page once.
ALTER TABLE vectors ALTER COLUMN codes SET STORAGE PLAIN;

-- Searchable texts: entries by number of words, the words of each, and the sums of both for BM25. Lengths are rounded.
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

-- The chunks, entities and nodes that each node is made of.
CREATE TABLE members (
    workspace_id bigint NOT NULL,
    kind smallint NOT NULL,
    member text COLLATE "C" NOT NULL,
    node text COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace_id, kind, member, node)
);
CREATE INDEX ON members (workspace_id, node);

-- Besides the condition of every query: rows of other workspaces than the transaction's do not exist for it.
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
