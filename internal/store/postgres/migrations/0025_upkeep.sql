-- +goose Up

-- Each ANALYZE, and each VACUUM, makes every connection plan all its statements for
-- that table anew, and the statements of the hot paths are planned by indexes whatever
-- is known of the tables. So tables that grow fast are looked at less often than is
-- usual while they are small. What is written over stays in its page (see fillfactor),
-- and dead rows are cleaned up there without a VACUUM.
ALTER TABLE agent_execution SET (autovacuum_analyze_threshold = 20000, autovacuum_analyze_scale_factor = 0.2, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_scale_factor = 0.1);
ALTER TABLE log_head SET (autovacuum_analyze_threshold = 20000, autovacuum_analyze_scale_factor = 0.5, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_scale_factor = 0.1);
ALTER TABLE task_execution SET (autovacuum_analyze_threshold = 20000, autovacuum_analyze_scale_factor = 0.2, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_insert_threshold = 50000);
ALTER TABLE log_record SET (autovacuum_analyze_threshold = 50000, autovacuum_analyze_scale_factor = 0.2, autovacuum_vacuum_insert_threshold = 100000);
ALTER TABLE log_block SET (autovacuum_analyze_threshold = 20000, autovacuum_analyze_scale_factor = 0.2, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_insert_threshold = 50000);
ALTER TABLE log_chunk SET (autovacuum_analyze_threshold = 50000, autovacuum_analyze_scale_factor = 0.5, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_insert_threshold = 100000);
ALTER TABLE agent_entry SET (autovacuum_analyze_threshold = 20000, autovacuum_analyze_scale_factor = 0.2, autovacuum_vacuum_insert_threshold = 50000);
ALTER TABLE agent_signal SET (autovacuum_analyze_threshold = 20000, autovacuum_analyze_scale_factor = 0.2, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_scale_factor = 0.1);
ALTER TABLE agent_timer SET (autovacuum_analyze_threshold = 20000, autovacuum_analyze_scale_factor = 0.5, autovacuum_vacuum_threshold = 2000);
-- One row for each committer, written with every transaction.
ALTER TABLE committer SET (autovacuum_analyze_threshold = 1000000, autovacuum_vacuum_threshold = 5000);

-- Nothing is looked for by content, and none of it has to stand in pg_stats.
ALTER TABLE agent_execution ALTER COLUMN input SET STATISTICS 0, ALTER COLUMN output SET STATISTICS 0, ALTER COLUMN answer SET STATISTICS 0,
    ALTER COLUMN wait SET STATISTICS 0, ALTER COLUMN asked SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0, ALTER COLUMN error SET STATISTICS 0;
ALTER TABLE task_execution ALTER COLUMN input SET STATISTICS 0, ALTER COLUMN result SET STATISTICS 0, ALTER COLUMN result_of SET STATISTICS 0,
    ALTER COLUMN options SET STATISTICS 0, ALTER COLUMN error SET STATISTICS 0, ALTER COLUMN progress SET STATISTICS 0;
ALTER TABLE agent_entry ALTER COLUMN content SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0,
    ALTER COLUMN calls SET STATISTICS 0, ALTER COLUMN answers SET STATISTICS 0, ALTER COLUMN open_calls SET STATISTICS 0;
ALTER TABLE agent_checkpoint ALTER COLUMN state SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0;
ALTER TABLE agent_signal ALTER COLUMN signal_value SET STATISTICS 0;
ALTER TABLE log_record ALTER COLUMN fields SET STATISTICS 0, ALTER COLUMN fields_of SET STATISTICS 0;
ALTER TABLE log_block ALTER COLUMN content SET STATISTICS 0, ALTER COLUMN cuts SET STATISTICS 0;
ALTER TABLE log_chunk ALTER COLUMN content SET STATISTICS 0;
ALTER TABLE blob ALTER COLUMN content_of SET STATISTICS 0;
ALTER TABLE blob_chunk ALTER COLUMN content SET STATISTICS 0;
ALTER TABLE durable_stream_chunk ALTER COLUMN content SET STATISTICS 0;

-- +goose Down
ALTER TABLE durable_stream_chunk ALTER COLUMN content SET STATISTICS -1;
ALTER TABLE blob_chunk ALTER COLUMN content SET STATISTICS -1;
ALTER TABLE blob ALTER COLUMN content_of SET STATISTICS -1;
ALTER TABLE log_chunk ALTER COLUMN content SET STATISTICS -1;
ALTER TABLE log_block ALTER COLUMN content SET STATISTICS -1, ALTER COLUMN cuts SET STATISTICS -1;
ALTER TABLE log_record ALTER COLUMN fields SET STATISTICS -1, ALTER COLUMN fields_of SET STATISTICS -1;
ALTER TABLE agent_signal ALTER COLUMN signal_value SET STATISTICS -1;
ALTER TABLE agent_checkpoint ALTER COLUMN state SET STATISTICS -1, ALTER COLUMN metadata SET STATISTICS -1;
ALTER TABLE agent_entry ALTER COLUMN content SET STATISTICS -1, ALTER COLUMN metadata SET STATISTICS -1,
    ALTER COLUMN calls SET STATISTICS -1, ALTER COLUMN answers SET STATISTICS -1, ALTER COLUMN open_calls SET STATISTICS -1;
ALTER TABLE task_execution ALTER COLUMN input SET STATISTICS -1, ALTER COLUMN result SET STATISTICS -1, ALTER COLUMN result_of SET STATISTICS -1,
    ALTER COLUMN options SET STATISTICS -1, ALTER COLUMN error SET STATISTICS -1, ALTER COLUMN progress SET STATISTICS -1;
ALTER TABLE agent_execution ALTER COLUMN input SET STATISTICS -1, ALTER COLUMN output SET STATISTICS -1, ALTER COLUMN answer SET STATISTICS -1,
    ALTER COLUMN wait SET STATISTICS -1, ALTER COLUMN asked SET STATISTICS -1, ALTER COLUMN metadata SET STATISTICS -1, ALTER COLUMN error SET STATISTICS -1;
ALTER TABLE committer RESET (autovacuum_analyze_threshold, autovacuum_vacuum_threshold);
ALTER TABLE agent_timer RESET (autovacuum_analyze_threshold, autovacuum_analyze_scale_factor, autovacuum_vacuum_threshold);
ALTER TABLE agent_signal RESET (autovacuum_analyze_threshold, autovacuum_analyze_scale_factor, autovacuum_vacuum_threshold, autovacuum_vacuum_scale_factor);
ALTER TABLE agent_entry RESET (autovacuum_analyze_threshold, autovacuum_analyze_scale_factor, autovacuum_vacuum_insert_threshold);
ALTER TABLE log_chunk RESET (autovacuum_analyze_threshold, autovacuum_analyze_scale_factor, autovacuum_vacuum_threshold, autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_threshold);
ALTER TABLE log_block RESET (autovacuum_analyze_threshold, autovacuum_analyze_scale_factor, autovacuum_vacuum_threshold, autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_threshold);
ALTER TABLE log_record RESET (autovacuum_analyze_threshold, autovacuum_analyze_scale_factor, autovacuum_vacuum_insert_threshold);
ALTER TABLE task_execution RESET (autovacuum_analyze_threshold, autovacuum_analyze_scale_factor, autovacuum_vacuum_threshold, autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_threshold);
ALTER TABLE log_head RESET (autovacuum_analyze_threshold, autovacuum_analyze_scale_factor, autovacuum_vacuum_threshold, autovacuum_vacuum_scale_factor);
ALTER TABLE agent_execution RESET (autovacuum_analyze_threshold, autovacuum_analyze_scale_factor, autovacuum_vacuum_threshold, autovacuum_vacuum_scale_factor);
