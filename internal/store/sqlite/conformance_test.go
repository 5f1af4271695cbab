package sqlite

import (
	"maps"
	"sync"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest"
)

// contract contains the statements that the tests of storetest.Run have run.
var contract struct {
	sync.Mutex
	statements map[string]bool
}

func TestConformance(t *testing.T) {
	longtest.Checks(t, 30, 100)
	runContract(t)
}

// runContract runs the tests of storetest.Run, and records the statements that they run.
func runContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		s := open(t, Options{})
		t.Cleanup(func() {
			statements := statementsOf(s)
			contract.Lock()
			defer contract.Unlock()
			if contract.statements == nil {
				contract.statements = map[string]bool{}
			}
			for _, query := range statements {
				contract.statements[query] = true
			}
		})
		return s
	})
}

// contractStatements returns the statements that runContract has recorded. It calls runContract
// unless TestConformance has done so.
func contractStatements(t *testing.T) map[string]bool {
	t.Helper()
	contract.Lock()
	ran := contract.statements != nil
	contract.Unlock()
	if !ran {
		t.Run("contract", runContract)
	}
	contract.Lock()
	defer contract.Unlock()
	return maps.Clone(contract.statements)
}

// TestConformanceOfWritesPutOff checks that deferred writes behave like immediate ones.
func TestConformanceOfWritesPutOff(t *testing.T) {
	longtest.Skip(t, "seconds")
	longtest.Checks(t, 10, 100)
	storetest.RunSample(t, 4, func(t *testing.T) store.Store { return open(t, Options{laterFrom: 1}) })
}

// TestConformancePlain checks that a store without optimizations behaves like one with them.
func TestConformancePlain(t *testing.T) {
	longtest.Skip(t, "seconds")
	longtest.Checks(t, 10, 100)
	storetest.RunSample(t, 4, func(t *testing.T) store.Store { return open(t, Options{Plain: true}) })
}
