-- +goose Up

LOCK TABLE agent_execution IN ACCESS EXCLUSIVE MODE; -- as in 0030

-- Steps recorded, and tasks scheduled, since the newest checkpoint. It counts from 0 for
-- executions of before.
ALTER TABLE agent_execution ADD COLUMN IF NOT EXISTS records_since_checkpoint BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE agent_execution DROP COLUMN records_since_checkpoint;
