package load

const (

	// Closed blocks that overlap (?2, ?3]. Blocks of span class n begin less than 16^n positions
	// before it.
	SpanClasses = "WITH RECURSIVE class (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM class WHERE n < ?4)"
	FromSpans   = " FROM class CROSS JOIN log_block b WHERE b.agent_execution_id = ?1 AND b.span = class.n" +
		" AND b.first_pos > ?2 - (CAST(1 AS BIGINT) << (4 * class.n)) AND b.first_pos <= ?3 AND b.last_pos > ?2"
)
