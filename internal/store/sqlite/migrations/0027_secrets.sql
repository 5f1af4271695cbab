-- +goose Up

-- Random secrets of the installation, from which keys are derived.
CREATE TABLE store_secret (
    name       TEXT PRIMARY KEY,
    value      BLOB NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE store_secret;
