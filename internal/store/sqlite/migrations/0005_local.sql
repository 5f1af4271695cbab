-- +goose Up

-- LOCAL executions: the one worker that may claim it again, and what stands in
-- the log for content that is not stored here.
ALTER TABLE agent_execution ADD COLUMN home_worker_id BLOB;
ALTER TABLE log_record ADD COLUMN fields_blob BLOB;
ALTER TABLE log_chunk ADD COLUMN length INTEGER; -- of a text that is not here; NULL: content is all
ALTER TABLE log_block ADD COLUMN content_blob BLOB;
ALTER TABLE blob ADD COLUMN staged INTEGER NOT NULL DEFAULT 0; -- bytes that are here and not shown yet

DROP INDEX idx_agent_execution_dispatch;
CREATE INDEX idx_agent_execution_dispatch
    ON agent_execution (org_id, queue, kind, persistence_mode, home_worker_id, ready_at, not_before)
    WHERE status = 'PENDING' AND crashes < 3;
DROP INDEX idx_agent_execution_alone;
CREATE INDEX idx_agent_execution_alone
    ON agent_execution (org_id, queue, kind, persistence_mode, home_worker_id, ready_at, not_before)
    WHERE status = 'PENDING' AND crashes >= 3;
CREATE INDEX idx_blob_withheld ON blob (agent_execution_id, id) WHERE owned = 1 AND held + staged < length;

-- +goose Down
DROP INDEX idx_blob_withheld;
DROP INDEX idx_agent_execution_alone;
CREATE INDEX idx_agent_execution_alone ON agent_execution (org_id, queue, kind, ready_at, not_before)
    WHERE status = 'PENDING' AND crashes >= 3;
DROP INDEX idx_agent_execution_dispatch;
CREATE INDEX idx_agent_execution_dispatch ON agent_execution (org_id, queue, kind, ready_at, not_before)
    WHERE status = 'PENDING' AND crashes < 3;
ALTER TABLE blob DROP COLUMN staged;
ALTER TABLE log_block DROP COLUMN content_blob;
ALTER TABLE log_chunk DROP COLUMN length;
ALTER TABLE log_record DROP COLUMN fields_blob;
ALTER TABLE agent_execution DROP COLUMN home_worker_id;
