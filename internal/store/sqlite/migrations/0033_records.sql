-- +goose Up

-- Steps recorded, and tasks scheduled, since the newest checkpoint. It counts from 0 for
-- executions of before.
ALTER TABLE agent_execution ADD COLUMN records_since_checkpoint INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE agent_execution DROP COLUMN records_since_checkpoint;
