-- The budget of a workspace. It has its own table because every commit locks the row of the workspace.
CREATE TABLE budgets (
    workspace_id bigint PRIMARY KEY,
    body text NOT NULL
);
ALTER TABLE budgets ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_workspace ON budgets
    USING (workspace_id = nullif(current_setting('graphloom.workspace', true), '')::bigint);
