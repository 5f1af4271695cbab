package read

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var keyForLink = statement.Read(tenant.KeySelect + "k.id = ? AND " + column.Unindexed("k.org_id") + " = ?")

// Link implements [store.QuestionReader].
func (r *Reader) Link(ctx context.Context, token perdure.Hash) (*store.Link, error) {
	return base.Find(ctx, r.Source, func(v statement.View) (*store.Link, error) {
		link, err := load.LinkRows.One(v, load.LinkByToken, token[:])
		if err != nil || link == nil {
			return nil, err
		}
		key, err := tenant.KeyRows.One(v, keyForLink, link.KeyID[:], link.Org)
		if err != nil || key == nil {
			return nil, err
		}
		return &store.Link{QuestionLink: *link, Key: key}, nil
	}, "there is no such link")
}

// ExpiredLinks implements [store.SweepReader].
func (r *Reader) ExpiredLinks(ctx context.Context, now perdure.Time, limit int) ([]*perdure.QuestionLink, error) {
	return base.Get(ctx, r.Source, func(v statement.View) ([]*perdure.QuestionLink, error) {
		return load.LinkRows.All(v, load.ExpiredLinks, column.Millis(now), limit)
	})
}

// Links implements [store.QuestionReader].
func (r *Reader) Links(ctx context.Context, execution, question uuid.UUID) ([]*perdure.QuestionLink, error) {
	return base.Get(ctx, r.Source, func(v statement.View) ([]*perdure.QuestionLink, error) {
		return load.LinkRows.All(v, load.LinksOf, execution[:], question[:])
	})
}
