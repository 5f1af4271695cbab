package storetest

import (
	"bytes"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// firstSecret checks that the first secret with a name is stored. A later secret with the same name
// must be ignored.
func firstSecret(f *fixture) {
	_, err := f.s.Secret(f.ctx, "one")
	f.wantCode(err, perdure.NotFound)
	value := append([]byte{0, 0xff}, bytes.Repeat([]byte("s"), 30)...)
	for _, s := range []store.Secret{{Name: "one", Value: value}, {Name: "two", Value: []byte("two")}, {Name: "one", Value: []byte("late")}} {
		s.CreatedAt = milestone(0)
		f.must(f.outside("acme", store.Changes{Secret: &s}))
	}
	got, err := f.s.Secret(f.ctx, "one")
	f.must(err)
	f.equal("the secret", got, value)
}
