-- +goose Up

-- How often workers gave it back since the checkpoint because they could not run
-- it. Those are no crashes: nothing else in a worker is in danger of it.
ALTER TABLE agent_execution ADD COLUMN unfit INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE agent_execution DROP COLUMN unfit;
