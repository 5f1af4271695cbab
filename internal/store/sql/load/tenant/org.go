package tenant

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// OrgRows declares the rows of the table of orgs.
var OrgRows = row.New("org", 1, []row.Field[perdure.Org]{
	row.Text("id", func(x *perdure.Org) *string { return &x.ID }),
	row.Time("created_at", func(x *perdure.Org) *perdure.Time { return &x.CreatedAt }),
	row.OptTime("disabled_at", func(x *perdure.Org) **perdure.Time { return &x.DisabledAt }),
})

var (
	// OrgSelect is the beginning of a query for orgs.
	OrgSelect = "SELECT " + OrgRows.List("o") + " FROM org o WHERE "
	orgByID   = statement.Read(OrgSelect + "o.id = ?")
)

// Org returns the org with that id; nil if there is none.
func Org(v statement.View, id string) (*perdure.Org, error) {
	return OrgRows.One(v, orgByID, id)
}

// PendingOrgs returns a list with only `org`, unless `org` is "". For "", it returns all orgs that
// have a property, such as pending work; the query must select the first such org after the org ?1.
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
