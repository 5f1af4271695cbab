package server

import (
	"context"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/postgres"
	"github.com/perdure/perdure/internal/store/sqlite"
)

// shared reports whether other servers may use the store that c names.
func (c *Config) shared() bool {
	scheme, _, _ := strings.Cut(c.Store, "://")
	return scheme == "postgres" || scheme == "postgresql"
}

// openStore opens the store of the configuration c. The function `fatal` is called after an error
// that forbids further writes to the store. The committers report their actions to the observer,
// which may be nil.
func openStore(ctx context.Context, c Config, observer *store.Observer, fatal func(error)) (store.Store, error) {
	if c.StorePlain {
		c.Logger.Warn("the store runs without its optimizations, as --store-plain asks for")
	}
	if c.shared() {
		s, err := postgres.Open(ctx, postgres.Options{URL: c.Store, Logger: c.Logger, Clock: c.Clock, Fatal: fatal, Observer: observer, AllowOff: c.StoreAllowOff, Plain: c.StorePlain})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	if c.Store != "" {
		return nil, invalidStoreURL()
	}
	if len(c.StoreAllowOff) > 0 {
		return nil, perdure.Errorf(perdure.InvalidArgument, "the settings %s are those of a database; name it by its URL, too", strings.Join(c.StoreAllowOff, ", "))
	}
	s, err := sqlite.Open(ctx, sqlite.Options{Path: StoreFile(c.Data), Reserve: true, CheckBeside: !c.CheckBefore, Logger: c.Logger, Clock: c.Clock, Fatal: fatal, Observer: observer, Plain: c.StorePlain})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// invalidStoreURL returns an error without the URL, which may contain a password.
func invalidStoreURL() error {
	return perdure.Errorf(perdure.InvalidArgument, "the store's URL begins with postgres://")
}

// Migrate updates the tables of the store at url. It returns the previous and the current version.
// Every server does the same when it starts.
func Migrate(ctx context.Context, url string) (from, to int64, err error) {
	if c := (Config{Store: url}); !c.shared() {
		return 0, 0, invalidStoreURL()
	}
	return postgres.Migrate(ctx, url)
}
