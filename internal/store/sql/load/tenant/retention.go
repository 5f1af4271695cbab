package tenant

import (
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// periods declares the columns of a retention policy, which the table of the orgs' policies and
// that of the executions' policies both have.
var periods = row.New("retention", 0, []row.Field[perdure.Retention]{
	period("executions", func(r *perdure.Retention) **perdure.Period { return &r.Executions }),
	period("checkpoints", func(r *perdure.Retention) **perdure.Period { return &r.Checkpoints }),
	period("logs", func(r *perdure.Retention) **perdure.Period { return &r.Logs }),
})

var (
	// Periods is the list of the columns of a retention policy.
	Periods = periods.List("")
	// ReplacedPeriods is the list of assignments in an insert that replaces an existing policy.
	ReplacedPeriods = periods.Replaced()
)

// RetentionOfOrg selects the retention policy of an org.
var RetentionOfOrg = statement.Read("SELECT " + Periods + " FROM retention WHERE org_id = ?")

// period declares a column that stores a period in milliseconds; nil is stored as NULL.
func period(name string, at func(*perdure.Retention) **perdure.Period) row.Field[perdure.Retention] {
	return row.Encoded(name, func(r *perdure.Retention) any { return PeriodOf(*at(r)) },
		func(r *perdure.Retention) any { return &periodInto{at(r)} })
}

// periodInto scans a column of milliseconds into a period; NULL becomes nil.
type periodInto struct{ to **perdure.Period }

// Scan implements [sql.Scanner].
func (p *periodInto) Scan(v any) error {
	*p.to = nil
	if ms, ok := v.(int64); ok {
		period := perdure.Period(time.Duration(ms) * time.Millisecond)
		*p.to = &period
	}
	return nil
}

// PeriodValues returns the values of the columns that [Periods] names.
func PeriodValues(r *perdure.Retention) ([]any, error) { return periods.Values(r) }

// PeriodOf returns the column value of a period; NULL for nil.
func PeriodOf(p *perdure.Period) any {
	if p == nil {
		return nil
	}
	return time.Duration(*p).Milliseconds()
}

// Policy reads the retention policy that a query selects; nil if there is none.
func Policy(v statement.View, query *statement.Statement, key any) (*perdure.Retention, error) {
	return periods.One(v, query, key)
}

// NextOrg selects the first org after the org ?1 that has executions. It reads one row of an index.
var NextOrg = statement.Read("SELECT min(org_id) FROM agent_execution WHERE org_id > ?")
