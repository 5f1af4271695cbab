package perdure

import "regexp"

// DefaultOrg is the org that exists in every store from the start.
const DefaultOrg = "default"

// Org is a tenant. Every execution, definition, key and stream belongs to one org, and is invisible
// to other orgs.
type Org struct {
	ID        string `json:"id"`
	CreatedAt Time   `json:"createdAt"`
	// DisabledAt is the time at which the org was disabled; null for an enabled org. A disabled org
	// keeps its data, but its API keys are refused and its executions are not claimed.
	DisabledAt *Time `json:"disabledAt"`
}

var orgID = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// CheckOrgID checks the id of a new org. The id is part of URLs.
func CheckOrgID(id string) error {
	if orgID.MatchString(id) {
		return nil
	}
	return FieldErrorf("id", "%q must be 1 to 63 lower-case letters, digits, - or _, and begin with a letter or digit", id)
}
