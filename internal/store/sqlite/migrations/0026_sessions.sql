-- +goose Up

-- A browser's sign-in. Both halves of its secret, and the secret of the key that it
-- was made with, are stored as SHA-256.
CREATE TABLE web_session (
    id          BLOB PRIMARY KEY,
    org_id      TEXT NOT NULL,
    key_id      BLOB, -- null for the token of a data directory
    key_name    TEXT NOT NULL,
    key_hash    BLOB NOT NULL,
    cookie_hash BLOB NOT NULL,
    page_hash   BLOB NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    remote      TEXT NOT NULL,
    user_agent  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX idx_web_session_cookie ON web_session (cookie_hash);
CREATE INDEX idx_web_session_key ON web_session (key_hash, created_at);
CREATE INDEX idx_web_session_org ON web_session (org_id, id);
CREATE INDEX idx_web_session_expiry ON web_session (expires_at);

-- +goose Down
DROP TABLE web_session;
