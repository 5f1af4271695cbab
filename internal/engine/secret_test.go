package engine

import (
	"bytes"
	"sync"
	"testing"

	"github.com/perdure/perdure/internal/store/opentest"
)

// TestServersOfAStoreHaveOneSecret checks that four concurrent servers and a fifth one after them
// get the same secret from a store, and that another store has another secret.
func TestServersOfAStoreHaveOneSecret(t *testing.T) {
	s := opentest.Store(t)
	const servers = 4
	got := make([][]byte, servers)
	var asking sync.WaitGroup
	for i := range servers {
		asking.Go(func() {
			secret, err := New(Config{Store: s}).SealingSecret(t.Context())
			if err != nil {
				t.Error(err)
			}
			got[i] = secret
		})
	}
	asking.Wait()
	later, err := New(Config{Store: s}).SealingSecret(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range got {
		if len(secret) != 32 || !bytes.Equal(secret, later) {
			t.Errorf("a server has the secret %x, and a later one %x", secret, later)
		}
	}
	other, err := New(Config{Store: opentest.Store(t)}).SealingSecret(t.Context())
	if err != nil || bytes.Equal(other, later) {
		t.Errorf("another store has the same secret (%v)", err)
	}
}
