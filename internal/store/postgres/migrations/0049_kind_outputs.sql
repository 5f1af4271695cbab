-- +goose Up

-- JSON array of the output schemas that workers have registered for a kind, each with the time of
-- its newest registration, the newest first.
ALTER TABLE kind ADD COLUMN outputs TEXT;

-- JSON array of the kind's tags.
ALTER TABLE kind ADD COLUMN tags TEXT;

-- +goose Down
ALTER TABLE kind DROP COLUMN tags;
ALTER TABLE kind DROP COLUMN outputs;
