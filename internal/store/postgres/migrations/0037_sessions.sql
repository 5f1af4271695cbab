-- +goose Up

-- A browser's sign-in. Both halves of its secret, and the secret of the key that it
-- was made with, are stored as SHA-256.
CREATE TABLE IF NOT EXISTS web_session (
    id          UUID PRIMARY KEY,
    org_id      TEXT COLLATE "C" NOT NULL,
    key_id      UUID, -- null for the token of a data directory
    key_name    TEXT NOT NULL,
    key_hash    BYTEA NOT NULL,
    cookie_hash BYTEA NOT NULL,
    page_hash   BYTEA NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    remote      TEXT NOT NULL,
    user_agent  TEXT NOT NULL
);

CREATE UNIQUE INDEX IF NOT EXISTS idx_web_session_cookie ON web_session (cookie_hash);
CREATE INDEX IF NOT EXISTS idx_web_session_key ON web_session (key_hash, created_at);
CREATE INDEX IF NOT EXISTS idx_web_session_org ON web_session (org_id, id);
CREATE INDEX IF NOT EXISTS idx_web_session_expiry ON web_session (expires_at);

-- +goose Down
DROP TABLE web_session;
