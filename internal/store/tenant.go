package store

import "context"

type orgKey struct{}

// ForOrg returns a context whose reads are the org's. Where many reads wait for a
// connection, orgs take turns.
func ForOrg(ctx context.Context, org string) context.Context {
	if OrgOf(ctx) == org {
		return ctx
	}
	return context.WithValue(ctx, orgKey{}, org)
}

// OrgOf returns the org whose reads a context's are; "" for the process's own.
func OrgOf(ctx context.Context) string {
	org, _ := ctx.Value(orgKey{}).(string)
	return org
}
