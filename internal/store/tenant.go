package store

import "context"

type orgKey struct{}

// ForOrg returns a context whose reads count as the org's. If many reads wait for a connection,
// orgs take turns.
func ForOrg(ctx context.Context, org string) context.Context {
	if OrgOf(ctx) == org {
		return ctx
	}
	return context.WithValue(ctx, orgKey{}, org)
}

// OrgOf returns the org of a context's reads; "" for the process's own reads.
func OrgOf(ctx context.Context) string {
	org, _ := ctx.Value(orgKey{}).(string)
	return org
}
