-- +goose Up

-- JSON array of the signals that workers have registered for an agent's kind, each with the time
-- of its newest registration, the newest first.
ALTER TABLE kind ADD COLUMN signals TEXT;

-- +goose Down
ALTER TABLE kind DROP COLUMN signals;
