-- +goose Up

-- 32 random bits a transaction, which tell two records apart that different histories
-- of a store have at the same position; 0 where they are not known.
ALTER TABLE log_record ADD COLUMN nonce INTEGER NOT NULL DEFAULT 0;
ALTER TABLE log_chunk ADD COLUMN nonce INTEGER NOT NULL DEFAULT 0;
ALTER TABLE log_block ADD COLUMN nonces BLOB; -- four bytes for each of the cuts
ALTER TABLE log_head ADD COLUMN nonce INTEGER NOT NULL DEFAULT 0;
ALTER TABLE log_head ADD COLUMN nonce_pos INTEGER NOT NULL DEFAULT 0;    -- of the record that nonce is of
ALTER TABLE log_head ADD COLUMN pruned_nonce INTEGER NOT NULL DEFAULT 0; -- of the last record that was pruned

-- +goose Down
ALTER TABLE log_head DROP COLUMN pruned_nonce;
ALTER TABLE log_head DROP COLUMN nonce_pos;
ALTER TABLE log_head DROP COLUMN nonce;
ALTER TABLE log_block DROP COLUMN nonces;
ALTER TABLE log_chunk DROP COLUMN nonce;
ALTER TABLE log_record DROP COLUMN nonce;
