package storetest

import (
	"sync"

	"github.com/perdure/perdure/internal/store"
)

var turnTests = map[string]func(*fixture){
	"reads of one org leave connections to another, and to the process": readsLeaveRoom,
}

// manyReads is greater than the number of connections of any store.
const manyReads = 200

// reads starts manyReads reads of the org, which run until `release` is called. The function
// returns when the first of these reads is running.
func (f *fixture) reads(org string) (release func()) {
	var (
		group sync.WaitGroup
		one   = make(chan struct{}, manyReads)
		end   = make(chan struct{})
	)
	for range manyReads {
		group.Go(func() {
			err := f.s.Together(store.ForOrg(f.ctx, org), func(r store.ClaimReader) error {
				one <- struct{}{}
				<-end
				return nil
			})
			if err != nil {
				f.Error(err)
			}
		})
	}
	<-one
	return sync.OnceFunc(func() { close(end); group.Wait() })
}

func readsLeaveRoom(f *fixture) {
	id := f.start()
	release := f.reads("hostile")
	defer release()
	for _, who := range []string{"quiet", ""} {
		_, err := f.s.Execution(store.ForOrg(f.ctx, who), org, id)
		f.must(err)
	}
}
