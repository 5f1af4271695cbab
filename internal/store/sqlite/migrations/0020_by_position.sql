-- +goose Up

-- Of one execution's records the seqs rise with the positions, by which they are
-- stored: a seq is found by bisection. The index was written to with every event.
DROP INDEX idx_log_record_seq;

-- +goose Down

CREATE UNIQUE INDEX idx_log_record_seq ON log_record (agent_execution_id, seq);
