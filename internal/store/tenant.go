package store

import "context"

type orgKey struct{}

// ForOrg returns a context for reads. Reads with this context count as reads of the org. If many
// reads wait for a connection, the orgs take turns.
func ForOrg(ctx context.Context, org string) context.Context {
	if OrgOf(ctx) == org {
		return ctx
	}
	return context.WithValue(ctx, orgKey{}, org)
}

// OrgOf returns the org that [ForOrg] has set in the context. It returns "" if the server process
// reads for itself, not for an org.
func OrgOf(ctx context.Context) string {
	org, _ := ctx.Value(orgKey{}).(string)
	return org
}
