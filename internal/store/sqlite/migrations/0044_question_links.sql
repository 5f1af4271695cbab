-- +goose Up

-- Addresses at which one key answers one question without signing in. A token is stored only as its
-- SHA-256.
CREATE TABLE question_link (
    agent_execution_id BLOB NOT NULL,
    question_id        BLOB NOT NULL,
    token_sha256       BLOB NOT NULL UNIQUE,
    org_id             TEXT NOT NULL,
    key_id             BLOB NOT NULL,
    question_version   INTEGER NOT NULL,
    created_at         INTEGER NOT NULL,
    expires_at         INTEGER NOT NULL,
    PRIMARY KEY (agent_execution_id, question_id, token_sha256),
    FOREIGN KEY (agent_execution_id, question_id) REFERENCES question (agent_execution_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_question_link_age ON question_link (agent_execution_id, question_id, created_at, token_sha256);

-- The key whose links the deliveries about new questions contain; NULL: they contain none.
ALTER TABLE webhook ADD COLUMN link_key_id BLOB;

-- +goose Down
ALTER TABLE webhook DROP COLUMN link_key_id;
DROP TABLE question_link;
