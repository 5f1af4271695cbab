package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

type actorKey struct{}

// By returns a context for calls that are made on behalf of an actor.
func By(ctx context.Context, a perdure.Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns the actor that a context names. Without one, it returns the actor of the server
// process itself.
func ActorOf(ctx context.Context) perdure.Actor {
	if a, ok := ctx.Value(actorKey{}).(perdure.Actor); ok {
		return a
	}
	return perdure.Actor{Name: "process"}
}

// KeyOf returns the id of the API key on whose behalf the context acts; nil if there is no key.
func KeyOf(ctx context.Context) *uuid.UUID { return ActorOf(ctx).KeyID }
