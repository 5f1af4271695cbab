package perdure

import "regexp"

// DefaultOrg is the org that every store has from the start.
const DefaultOrg = "default"

// Org is a tenant. Every execution, definition, key and stream belongs to one org,
// and no org sees another's.
type Org struct {
	ID        string `json:"id"`
	CreatedAt Time   `json:"createdAt"`
	// DisabledAt is when the org was disabled; null for an org that works. A
	// disabled org keeps its rows; its keys are refused and its runs are not
	// claimed.
	DisabledAt *Time `json:"disabledAt"`
}

var orgID = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// CheckOrgID checks the id of a new org: it is part of URLs.
func CheckOrgID(id string) error {
	if orgID.MatchString(id) {
		return nil
	}
	return FieldErrorf("id", "%q must be 1 to 63 lower-case letters, digits, - or _, and begin with a letter or digit", id)
}
