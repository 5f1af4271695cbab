package postgres

import (
	"context"
	"reflect"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/counttest"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

// TestPlainTurnsOffEverything checks that Plain turns off each optimization that can be turned off.
func TestPlainTurnsOffEverything(t *testing.T) {
	off := reflect.ValueOf(Options{Plain: true}.normal().without)
	for i := range off.NumField() {
		if !off.Field(i).Bool() {
			t.Errorf("%s is on", off.Type().Field(i).Name)
		}
	}
	if (Options{}).normal().without != (optimizations{}) {
		t.Error("something is off without Plain")
	}
}

// TestPlainCommandsAreTransactions checks that a plain store commits each of 40 waiting commands in
// a separate transaction, and that a normal store commits them in one.
func TestPlainCommandsAreTransactions(t *testing.T) {
	const n = 40
	for plain, want := range map[bool]int{true: n, false: 1} {
		got := counttest.Transactions(t, n, func(o *store.Observer) store.Store {
			return open(t, Options{Plain: plain, Committers: 1, Observer: o})
		})
		if got != want {
			t.Errorf("plain %t: %d commands were committed by %d transactions, want %d", plain, n, got, want)
		}
	}
}

// TestPlainStatementsGoOneByOne compares round trips. For one command, a plain store needs at least
// five round trips more than a normal store. For n commands, the plain store needs n times as many
// round trips as for one. A store in which only the optimization "groups" is turned off also needs
// additional round trips for each command of a batch.
func TestPlainStatementsGoOneByOne(t *testing.T) {
	const n = 20
	one, many := map[string]int64{}, map[string]int64{}
	for name, off := range map[string]optimizations{"all on": {texts: true}, "without groups": {texts: true, groups: true}, "plain": allOptimizations} {
		s := open(t, Options{without: off, Committers: 1})
		c := tripsOf(s)
		var ids []uuid.UUID
		calls := make([]func(context.Context) error, n)
		for i := range calls {
			id := begin(t, s)
			ids = append(ids, id)
			calls[i] = func(ctx context.Context) error { return note(ctx, s, id, uuid.New()) }
		}
		together(t, s, c, calls) // this call prepares the statements
		one[name], many[name] = together(t, s, c, calls[:1]), together(t, s, c, calls)
		noted(t, s, ids[0], 3)
		noted(t, s, ids[1], 2)
		invariants.Check(t, s)
	}
	if one["plain"] < one["all on"]+5 || one["plain"] != one["without groups"] {
		t.Errorf("one command takes these round trips: %v", one)
	}
	if many["all on"] != one["all on"] || many["plain"] != n*one["plain"] || many["without groups"] <= n*(one["plain"]-5) {
		t.Errorf("one command takes these round trips: %v, and %d take these: %v", one, n, many)
	}
}

// TestPlainReadsWaitForTheirEnd checks that no connection is in use after a read of a plain store.
func TestPlainReadsWaitForTheirEnd(t *testing.T) {
	s := open(t, Options{Plain: true})
	id := begin(t, s)
	for range 100 {
		noted(t, s, id, 0)
		if busy := s.pool.Stat().AcquiredConns(); busy != 0 {
			t.Fatalf("after a read %d connections are in use", busy)
		}
	}
}
