-- +goose Up

LOCK TABLE question, webhook IN ACCESS EXCLUSIVE MODE;

-- Addresses at which one key answers one question without signing in. A token is stored only as its
-- SHA-256.
CREATE TABLE IF NOT EXISTS question_link (
    agent_execution_id UUID NOT NULL,
    question_id        UUID NOT NULL,
    token_sha256       BYTEA NOT NULL UNIQUE,
    org_id             TEXT COLLATE "C" NOT NULL,
    key_id             UUID NOT NULL,
    question_version   BIGINT NOT NULL,
    created_at         BIGINT NOT NULL,
    expires_at         BIGINT NOT NULL,
    PRIMARY KEY (agent_execution_id, question_id, token_sha256),
    FOREIGN KEY (agent_execution_id, question_id) REFERENCES question (agent_execution_id, id) ON DELETE CASCADE
);

CREATE INDEX IF NOT EXISTS idx_question_link_age ON question_link (agent_execution_id, question_id, created_at, token_sha256);

-- The key whose links the deliveries about new questions contain; NULL: they contain none.
ALTER TABLE webhook ADD COLUMN IF NOT EXISTS link_key_id UUID;

-- +goose Down
LOCK TABLE question, webhook IN ACCESS EXCLUSIVE MODE;
ALTER TABLE webhook DROP COLUMN link_key_id;
DROP TABLE question_link;
