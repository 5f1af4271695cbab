// Package tenant executes the commands about the data of an org outside its executions: the org
// itself, its API keys, sessions, agent definitions, registered kinds and retention. As in package
// rules, each command is a pure function that may run more than once.
package tenant

import (
	"crypto/sha256"
	"encoding/json"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Change contains what an audit record says about a change: the actor, the org and the action.
type Change struct {
	Actor  perdure.Actor
	Org    string
	Action perdure.AuditAction
}

func (c Change) record(now perdure.Time) *perdure.AuditRecord {
	return &perdure.AuditRecord{At: now, Actor: c.Actor, Action: c.Action, Org: c.Org}
}

// key returns the audit record of a change of an API key; `before` is nil for a new key. The record
// has hashes of the row before and after the change, which do not include the key's secret.
func (c Change) key(now perdure.Time, before, after *perdure.APIKey) *perdure.AuditRecord {
	r := c.record(now)
	r.SubjectID, r.SubjectName, r.After = idOf(after.ID), after.Name, sumOf(after)
	if before != nil {
		r.Before = sumOf(before)
	}
	return r
}

// session returns the audit record of the start of a session (`before` is nil) or of its end
// (`after` is nil). The record has a hash of the row, which does not include the session's secrets.
func (c Change) session(now perdure.Time, before, after *perdure.Session) *perdure.AuditRecord {
	r := c.record(now)
	for _, one := range []struct {
		s   *perdure.Session
		sum *string
	}{{before, &r.Before}, {after, &r.After}} {
		if one.s != nil {
			r.SubjectID, r.SubjectName, *one.sum = idOf(one.s.ID), one.s.KeyName, sumOf(one.s)
		}
	}
	return r
}

// orgRow returns the audit record of an org's change; `before` is nil for a new org.
func (c Change) orgRow(now perdure.Time, before, after *perdure.Org) *perdure.AuditRecord {
	r := c.record(now)
	r.SubjectName, r.After = after.ID, sumOf(after)
	if before != nil {
		r.Before = sumOf(before)
	}
	return r
}

// definition returns the audit record of a definition's change; `before` is nil for a new
// definition, and `after` for a deleted one.
func (c Change) definition(now perdure.Time, before, after *perdure.Definition) *perdure.AuditRecord {
	r := c.record(now)
	for _, one := range []struct {
		d   *perdure.Definition
		sum *string
	}{{before, &r.Before}, {after, &r.After}} {
		if one.d != nil {
			r.SubjectID, r.SubjectName, *one.sum = idOf(one.d.ID), one.d.Slug, sumOf(one.d)
		}
	}
	return r
}

// webhook returns the audit record of a webhook's change; `before` is nil for a new webhook. The
// record has hashes of the row before and after the change, which do not include the secrets. The
// webhook's name in the record is its URL without the query, which may contain a secret.
func (c Change) webhook(now perdure.Time, before, after *perdure.Webhook) *perdure.AuditRecord {
	r := c.record(now)
	name, _, _ := strings.Cut(after.URL, "?")
	r.SubjectID, r.SubjectName = idOf(after.ID), name
	if before != nil {
		r.Before = sumOf(before)
	}
	if after.DeletedAt == nil {
		r.After = sumOf(after)
	}
	return r
}

// policy returns the audit record of a change of the org's retention policy.
func (c Change) policy(now perdure.Time, after *perdure.Retention) *perdure.AuditRecord {
	r := c.record(now)
	r.After = sumOf(after)
	return r
}

func idOf(id uuid.UUID) *uuid.UUID { return &id }

// sumOf returns the SHA-256 of the row's JSON as text; "" if the row cannot be encoded.
func sumOf(row any) string {
	raw, err := json.Marshal(row)
	if err != nil {
		return "" // unreachable: the rows were decoded from JSON
	}
	return perdure.Hash(sha256.Sum256(raw)).String()
}
