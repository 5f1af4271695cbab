-- +goose Up

LOCK TABLE agent_execution, log_head, log_record, log_chunk, log_block IN ACCESS EXCLUSIVE MODE; -- as in 0030

-- 32 random bits a transaction, which tell two records apart that different histories
-- of a store have at the same position; 0 where they are not known.
ALTER TABLE log_head ADD COLUMN IF NOT EXISTS nonce INTEGER NOT NULL DEFAULT 0;
ALTER TABLE log_head ADD COLUMN IF NOT EXISTS nonce_pos BIGINT NOT NULL DEFAULT 0;     -- of the record that nonce is of; servers without nonces move the head alone
ALTER TABLE log_head ADD COLUMN IF NOT EXISTS pruned_nonce INTEGER NOT NULL DEFAULT 0; -- of the last record that was pruned
ALTER TABLE log_record ADD COLUMN IF NOT EXISTS nonce INTEGER NOT NULL DEFAULT 0;
ALTER TABLE log_block ADD COLUMN IF NOT EXISTS nonces BYTEA; -- four bytes for each of the cuts
ALTER TABLE log_chunk ADD COLUMN IF NOT EXISTS nonce INTEGER NOT NULL DEFAULT 0;

ALTER TABLE log_block ALTER COLUMN nonces SET STATISTICS 0;

-- +goose Down
ALTER TABLE log_chunk DROP COLUMN nonce;
ALTER TABLE log_block DROP COLUMN nonces;
ALTER TABLE log_record DROP COLUMN nonce;
ALTER TABLE log_head DROP COLUMN pruned_nonce;
ALTER TABLE log_head DROP COLUMN nonce_pos;
ALTER TABLE log_head DROP COLUMN nonce;
