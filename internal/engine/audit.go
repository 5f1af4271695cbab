package engine

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// changed is a change that is about to be made: what the audit log says of it
// beside the thing itself.
type changed struct {
	actor  perdure.Actor
	org    string
	action perdure.AuditAction
}

func (c changed) record(now perdure.Time) *perdure.AuditRecord {
	return &perdure.AuditRecord{At: now, Actor: c.actor, Action: c.action, Org: c.org}
}

// key is the record of a key's change; before is nil for a new one. The hash of
// the secret is not part of what is hashed.
func (c changed) key(now perdure.Time, before, after *perdure.APIKey) *perdure.AuditRecord {
	r := c.record(now)
	r.SubjectID, r.SubjectName, r.After = idOf(after.ID), after.Name, sumOf(after)
	if before != nil {
		r.Before = sumOf(before)
	}
	return r
}

// session is the record of a session's begin or end; before is nil for a new one,
// after for one that ends. The hashes of its secrets are not part of what is hashed.
func (c changed) session(now perdure.Time, before, after *perdure.Session) *perdure.AuditRecord {
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

// orgRow is the record of an org's change; before is nil for a new one.
func (c changed) orgRow(now perdure.Time, before, after *perdure.Org) *perdure.AuditRecord {
	r := c.record(now)
	r.SubjectName, r.After = after.ID, sumOf(after)
	if before != nil {
		r.Before = sumOf(before)
	}
	return r
}

// definition is the record of a definition's change; before is nil for a new
// one, after for one that is deleted.
func (c changed) definition(now perdure.Time, before, after *perdure.Definition) *perdure.AuditRecord {
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

// policy is the record of a change of the org's retention.
func (c changed) policy(now perdure.Time, after *perdure.Retention) *perdure.AuditRecord {
	r := c.record(now)
	r.After = sumOf(after)
	return r
}

func idOf(id uuid.UUID) *uuid.UUID { return &id }

// sumOf returns the SHA-256 of a row as JSON.
func sumOf(row any) string {
	raw, err := json.Marshal(row)
	if err != nil {
		return "" // the rows came as JSON
	}
	return perdure.Hash(sha256.Sum256(raw)).String()
}
