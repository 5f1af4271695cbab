-- +goose Up

-- What is kept of the waits since the newest checkpoint, as JSON.
ALTER TABLE agent_execution ADD COLUMN asked TEXT;

-- +goose Down
ALTER TABLE agent_execution DROP COLUMN asked;
