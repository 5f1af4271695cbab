-- +goose Up

-- Periods are milliseconds, 0 for ever, NULL for what is not said.

-- How long an org keeps things.
CREATE TABLE retention (
    org_id      TEXT PRIMARY KEY,
    executions  INTEGER NOT NULL,
    checkpoints INTEGER NOT NULL,
    logs        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE agent_definition ADD COLUMN retention TEXT;

-- What an execution's definition said of it at the start. Executions of
-- definitions that say nothing have no row.
CREATE TABLE agent_retention (
    agent_execution_id BLOB PRIMARY KEY REFERENCES agent_execution (id) ON DELETE CASCADE,
    executions         INTEGER,
    checkpoints        INTEGER,
    logs               INTEGER,
    ended_at           INTEGER, -- the execution's completed_at
    log_pruned         INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_agent_retention_executions ON agent_retention (ended_at + executions)
    WHERE ended_at IS NOT NULL AND executions > 0;
CREATE INDEX idx_agent_retention_logs ON agent_retention (ended_at + logs)
    WHERE ended_at IS NOT NULL AND logs > 0 AND log_pruned = 0;

-- What is being deleted, a few rows at a time. An execution that goes whole is
-- there for nobody from the moment that it stands here.
CREATE TABLE pruning (
    agent_execution_id BLOB PRIMARY KEY REFERENCES agent_execution (id) ON DELETE CASCADE,
    whole              INTEGER NOT NULL -- 0: its log alone
) STRICT, WITHOUT ROWID;

-- The last column, beyond the contents: only indexes and sweeps read it.
ALTER TABLE agent_execution ADD COLUMN log_pruned INTEGER NOT NULL DEFAULT 0;

CREATE INDEX idx_agent_execution_ended ON agent_execution (org_id, completed_at)
    WHERE completed_at IS NOT NULL;
CREATE INDEX idx_agent_execution_ended_log ON agent_execution (org_id, completed_at)
    WHERE completed_at IS NOT NULL AND log_pruned = 0;

-- The position of the first record that a log still shows, 0 if it shows all.
ALTER TABLE log_head ADD COLUMN first_pos INTEGER NOT NULL DEFAULT 0;

-- Set when the next checkpoint is made: nothing resumes from this one any more.
ALTER TABLE agent_checkpoint ADD COLUMN superseded INTEGER NOT NULL DEFAULT 0;
UPDATE agent_checkpoint SET superseded = 1
    WHERE sequence < (SELECT x.current_checkpoint_seq FROM agent_execution x WHERE x.id = agent_execution_id);

CREATE INDEX idx_agent_checkpoint_superseded ON agent_checkpoint (created_at)
    WHERE superseded = 1;

-- A checkpoint's blob goes with it unless another row names it, too.
CREATE INDEX idx_agent_entry_blob ON agent_entry (agent_execution_id, content_blob)
    WHERE content_blob IS NOT NULL;
CREATE INDEX idx_agent_checkpoint_blob ON agent_checkpoint (agent_execution_id, state_blob)
    WHERE state_blob IS NOT NULL;
CREATE INDEX idx_agent_signal_blob ON agent_signal (agent_execution_id, value_blob)
    WHERE value_blob IS NOT NULL;
CREATE INDEX idx_task_execution_input_blob ON task_execution (agent_execution_id, input_blob)
    WHERE input_blob IS NOT NULL;
CREATE INDEX idx_task_execution_result_blob ON task_execution (agent_execution_id, result_blob)
    WHERE result_blob IS NOT NULL;

-- Blobs that no row names any more (owned = 2), and that are being deleted.
CREATE INDEX idx_blob_dead ON blob (agent_execution_id)
    WHERE owned = 2;

-- +goose Down
DROP INDEX idx_blob_dead;
DROP INDEX idx_task_execution_result_blob;
DROP INDEX idx_task_execution_input_blob;
DROP INDEX idx_agent_signal_blob;
DROP INDEX idx_agent_checkpoint_blob;
DROP INDEX idx_agent_entry_blob;
DROP INDEX idx_agent_checkpoint_superseded;
ALTER TABLE agent_checkpoint DROP COLUMN superseded;
ALTER TABLE log_head DROP COLUMN first_pos;
DROP INDEX idx_agent_execution_ended_log;
DROP INDEX idx_agent_execution_ended;
ALTER TABLE agent_execution DROP COLUMN log_pruned;
DROP TABLE pruning;
DROP TABLE agent_retention;
ALTER TABLE agent_definition DROP COLUMN retention;
DROP TABLE retention;
