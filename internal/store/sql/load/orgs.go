package load

import (
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// PendingOrgs returns the org. For "" it returns every org that has something pending.
func PendingOrgs(v statement.View, org string, query *statement.Statement) ([]string, error) {
	if org != "" {
		return []string{org}, nil
	}
	var orgs []string
	for at := ""; ; {
		var next *string
		if _, err := v.One(query, []any{at}, &next); err != nil || next == nil {
			return orgs, err
		}
		orgs, at = append(orgs, *next), *next
	}
}
