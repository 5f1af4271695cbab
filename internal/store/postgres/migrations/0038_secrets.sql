-- +goose Up

-- Random secrets of the installation, from which keys are derived.
CREATE TABLE IF NOT EXISTS store_secret (
    name       TEXT COLLATE "C" PRIMARY KEY,
    value      BYTEA NOT NULL,
    created_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE store_secret;
