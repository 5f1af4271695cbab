package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

type actorKey struct{}

// By returns a context of which everything is done on behalf of the actor.
func By(ctx context.Context, a perdure.Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns the actor of a context: the process itself, if nobody else is
// named.
func ActorOf(ctx context.Context) perdure.Actor {
	if a, ok := ctx.Value(actorKey{}).(perdure.Actor); ok {
		return a
	}
	return perdure.Actor{Name: "process"}
}

// KeyOf returns the key on behalf of which a context is, nil if it is none.
func KeyOf(ctx context.Context) *uuid.UUID { return ActorOf(ctx).KeyID }
