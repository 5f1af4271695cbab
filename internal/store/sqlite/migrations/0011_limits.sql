-- +goose Up

-- The limits of keys; 0 is none.
ALTER TABLE api_key ADD COLUMN requests_per_second INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_key ADD COLUMN max_running INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_key ADD COLUMN max_stored INTEGER NOT NULL DEFAULT 0;

-- What counts against them: executions by the key that started them, streams by
-- the one that made them. stored is the bytes that an execution holds, beside its
-- log's head while it runs, and in its own row once it has ended.
ALTER TABLE agent_execution ADD COLUMN key_id BLOB;
ALTER TABLE agent_execution ADD COLUMN stored INTEGER NOT NULL DEFAULT 0;
ALTER TABLE log_head ADD COLUMN stored INTEGER NOT NULL DEFAULT 0;
ALTER TABLE durable_stream ADD COLUMN key_id BLOB;

CREATE INDEX idx_agent_execution_key_open ON agent_execution (key_id, status, wait_reason)
    WHERE key_id IS NOT NULL AND completed_at IS NULL;
CREATE INDEX idx_agent_execution_key_ended ON agent_execution (key_id, stored)
    WHERE key_id IS NOT NULL AND completed_at IS NOT NULL;
CREATE INDEX idx_durable_stream_key ON durable_stream (key_id, tail)
    WHERE key_id IS NOT NULL AND deleted = 0;

-- Who changed what. Rows are added, never changed.
CREATE TABLE audit_log (
    number        INTEGER PRIMARY KEY,
    org_id        TEXT NOT NULL,
    at            INTEGER NOT NULL,
    actor_key_id  BLOB,
    actor_name    TEXT NOT NULL,
    request_id    TEXT,
    remote        TEXT,
    action        TEXT NOT NULL,
    subject_id    BLOB,
    subject_name  TEXT,
    before_sha256 TEXT,
    after_sha256  TEXT
) STRICT;

CREATE INDEX idx_audit_log_org ON audit_log (org_id, number);

-- +goose StatementBegin
CREATE TRIGGER audit_log_stays BEFORE UPDATE ON audit_log
BEGIN
    SELECT raise(ABORT, 'the audit log is not changed');
END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE audit_log;
DROP INDEX idx_durable_stream_key;
DROP INDEX idx_agent_execution_key_ended;
DROP INDEX idx_agent_execution_key_open;
ALTER TABLE durable_stream DROP COLUMN key_id;
ALTER TABLE log_head DROP COLUMN stored;
ALTER TABLE agent_execution DROP COLUMN stored;
ALTER TABLE agent_execution DROP COLUMN key_id;
ALTER TABLE api_key DROP COLUMN max_stored;
ALTER TABLE api_key DROP COLUMN max_running;
ALTER TABLE api_key DROP COLUMN requests_per_second;
