-- +goose Up

-- outputs is a JSON array of the output schemas that workers have registered for a kind, each with
-- the time of its newest registration, the newest first. tags is a JSON array of the kind's tags.
ALTER TABLE kind
    ADD COLUMN outputs TEXT,
    ADD COLUMN tags TEXT;

-- +goose Down
ALTER TABLE kind
    DROP COLUMN tags,
    DROP COLUMN outputs;
