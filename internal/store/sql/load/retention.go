package load

import (
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// RetentionOfOrg selects the retention policy of an org.
var RetentionOfOrg = statement.Read("SELECT executions, checkpoints, logs FROM retention WHERE org_id = ?")

// PeriodOf returns the column value of a period; NULL for nil.
func PeriodOf(p *perdure.Period) any {
	if p == nil {
		return nil
	}
	return time.Duration(*p).Milliseconds()
}

// periodCol returns the period for a column value of PeriodOf.
func periodCol(ms *int64) *perdure.Period {
	if ms == nil {
		return nil
	}
	p := perdure.Period(time.Duration(*ms) * time.Millisecond)
	return &p
}

// Policy reads a retention policy; nil if there is none.
func Policy(v statement.View, query *statement.Statement, key any) (*perdure.Retention, error) {
	var executions, checkpoints, logs *int64
	found, err := v.One(query, []any{key}, &executions, &checkpoints, &logs)
	if err != nil || !found {
		return nil, err
	}
	return &perdure.Retention{Executions: periodCol(executions), Checkpoints: periodCol(checkpoints), Logs: periodCol(logs)}, nil
}

// NextOrg skips through the index from one org to the next.
var NextOrg = statement.Read("SELECT min(org_id) FROM agent_execution WHERE org_id > ?")
