-- +goose Up

-- A decision that a run asks of people. A question outlives workers and servers.
CREATE TABLE question (
    number             INTEGER PRIMARY KEY,
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    id                 BLOB NOT NULL,
    org_id             TEXT NOT NULL,
    question_key       TEXT NOT NULL,
    kind               TEXT NOT NULL,
    subject            TEXT,
    terms              TEXT NOT NULL, -- the parts that never change, as JSON
    entry_id           BLOB, -- with call_id: the tool call whose arguments are the details
    call_id            TEXT,
    details_sha256     BLOB NOT NULL,
    place              TEXT NOT NULL, -- in the conversation, as JSON
    expires_at         INTEGER,
    status             TEXT NOT NULL CHECK (status = 'open' OR status = 'answered' OR status = 'expired' OR status = 'withdrawn'),
    answer             TEXT,
    votes              TEXT,
    task_id            BLOB, -- the task that an approval permitted
    version            INTEGER NOT NULL,
    created_at         INTEGER NOT NULL,
    decided_at         INTEGER,
    details            BLOB,
    UNIQUE (agent_execution_id, id)
) STRICT;

CREATE INDEX idx_question_org ON question (org_id, number);
CREATE INDEX idx_question_open ON question (org_id, number) WHERE status = 'open';
CREATE INDEX idx_question_due ON question (expires_at) WHERE status = 'open' AND expires_at IS NOT NULL;
CREATE INDEX idx_question_id ON question (id);

ALTER TABLE agent_execution ADD COLUMN open_questions INTEGER NOT NULL DEFAULT 0;
-- The gate of the policies about tool calls, as JSON; NULL: every call is allowed.
ALTER TABLE agent_execution ADD COLUMN gate TEXT;
-- The policy about tool calls, as JSON.
ALTER TABLE agent_definition ADD COLUMN approvals TEXT;
-- The key of the sender; NULL: the token of the data directory.
ALTER TABLE agent_signal ADD COLUMN sender_key_id BLOB;

-- Keys of the role approver read questions and answer them.
CREATE TABLE api_key_of_roles (
    number              INTEGER PRIMARY KEY,
    id                  BLOB NOT NULL UNIQUE,
    org_id              TEXT NOT NULL,
    name                TEXT NOT NULL,
    role                TEXT NOT NULL CHECK (role IN ('admin', 'client', 'worker', 'approver')),
    hash                BLOB NOT NULL UNIQUE,
    created_at          INTEGER NOT NULL,
    revoked_at          INTEGER,
    requests_per_second INTEGER NOT NULL DEFAULT 0, -- limits of the key; 0: no limit
    max_running         INTEGER NOT NULL DEFAULT 0,
    max_stored          INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO api_key_of_roles SELECT number, id, org_id, name, role, hash, created_at, revoked_at, requests_per_second, max_running, max_stored FROM api_key;
DROP TABLE api_key;
ALTER TABLE api_key_of_roles RENAME TO api_key;
CREATE INDEX idx_api_key_org ON api_key (org_id, number);

-- +goose Down
CREATE TABLE api_key_of_roles (
    number              INTEGER PRIMARY KEY,
    id                  BLOB NOT NULL UNIQUE,
    org_id              TEXT NOT NULL,
    name                TEXT NOT NULL,
    role                TEXT NOT NULL CHECK (role IN ('admin', 'client', 'worker')),
    hash                BLOB NOT NULL UNIQUE,
    created_at          INTEGER NOT NULL,
    revoked_at          INTEGER,
    requests_per_second INTEGER NOT NULL DEFAULT 0, -- limits of the key; 0: no limit
    max_running         INTEGER NOT NULL DEFAULT 0,
    max_stored          INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO api_key_of_roles SELECT number, id, org_id, name, role, hash, created_at, revoked_at, requests_per_second, max_running, max_stored FROM api_key WHERE role != 'approver';
DROP TABLE api_key;
ALTER TABLE api_key_of_roles RENAME TO api_key;
CREATE INDEX idx_api_key_org ON api_key (org_id, number);
ALTER TABLE agent_signal DROP COLUMN sender_key_id;
ALTER TABLE agent_definition DROP COLUMN approvals;
ALTER TABLE agent_execution DROP COLUMN gate;
ALTER TABLE agent_execution DROP COLUMN open_questions;
DROP TABLE question;
