-- +goose Up

-- An approval that also answers later questions about such calls, of its run or of its definition.
CREATE TABLE approval_grant (
    number              INTEGER PRIMARY KEY,
    id                  BLOB NOT NULL UNIQUE,
    org_id              TEXT NOT NULL,
    scope               TEXT NOT NULL CHECK (scope = 'run' OR scope = 'definition'),
    match_kind          TEXT NOT NULL CHECK (match_kind = 'exact' OR match_kind = 'tool'),
    agent_execution_id  BLOB REFERENCES agent_execution (id) ON DELETE CASCADE,
    agent_definition_id BLOB REFERENCES agent_definition (id) ON DELETE CASCADE,
    subject             TEXT NOT NULL, -- the tool
    details_sha256      BLOB, -- of the call, or NULL for the match tool
    question_id         BLOB NOT NULL,
    voters              TEXT NOT NULL, -- names, as a JSON array
    needed              INTEGER NOT NULL,
    voted_by            TEXT NOT NULL, -- the terms of the question about its voters, as a JSON array
    created_at          INTEGER NOT NULL,
    expires_at          INTEGER NOT NULL
) STRICT;

CREATE INDEX idx_approval_grant_org ON approval_grant (org_id, number);
CREATE INDEX idx_approval_grant_run ON approval_grant (agent_execution_id, number) WHERE agent_execution_id IS NOT NULL;
CREATE INDEX idx_approval_grant_definition ON approval_grant (agent_definition_id, number) WHERE agent_definition_id IS NOT NULL;

-- +goose Down
DROP TABLE approval_grant;
