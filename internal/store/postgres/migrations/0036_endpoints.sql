-- +goose Up

-- JSON array of the model endpoints that workers allow, by their queues.
ALTER TABLE kind ADD COLUMN IF NOT EXISTS endpoints TEXT;

-- +goose Down
ALTER TABLE kind DROP COLUMN endpoints;
