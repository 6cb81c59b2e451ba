-- Processes that hold leases. All times come from the clock of the database.
CREATE TABLE workers (
    name text COLLATE "C" PRIMARY KEY,
    seen_at timestamptz NOT NULL,
    ended boolean NOT NULL DEFAULT false
);

ALTER TABLE jobs ADD COLUMN lease_owner text COLLATE "C";

-- A process that looks for work can see the queues of all workspaces but nothing else in them. No workspace has the number 0.
CREATE POLICY of_queues ON jobs FOR SELECT USING (current_setting('graphloom.workspace', true) = '0');
CREATE POLICY of_queues ON stale FOR SELECT USING (current_setting('graphloom.workspace', true) = '0');

-- Texts that all processes share and that belong to no workspace, such as keys and users of servers.
CREATE TABLE shared_texts (
    name text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    body text NOT NULL
);
