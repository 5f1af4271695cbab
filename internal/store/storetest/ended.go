package storetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// endedTask returns a task with the given status. Its result has `size` bytes.
func endedTask(execution uuid.UUID, n int, status perdure.TaskStatus, size int) *perdure.Task {
	t := &perdure.Task{
		ID: uuid.New(), ExecutionID: execution, Org: org, Kind: fmt.Sprint("k", n), Queue: "q", Status: status,
		Step: n%2 == 0, CreatedAt: milestone(int64(n)), Input: json.RawMessage("[1,2]"),
	}
	if status.Terminal() {
		t.CompletedAt = ptr(milestone(int64(n + 1)))
	}
	if size > 0 {
		t.Result = json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`)
	}
	return t
}

func headOf(t *perdure.Task) perdure.EndedHead {
	h := perdure.EndedHead{
		ID: t.ID, Kind: t.Kind, Step: t.Step, Status: t.Status, Size: int64(len(t.Result)), InputSize: int64(len(t.Input)), Error: t.Error,
	}
	if h.Partial = h.Size > perdure.EndedInline; !h.Partial {
		h.Result.Bytes = t.Result
	}
	return h
}

func endedInPages(f *fixture) {
	id, other := f.start(), f.start()
	var want []perdure.EndedHead
	for n, size := range []int{2, 0, perdure.EndedInline, perdure.EndedInline + 1, 16 << 10, perdure.InlineLimit + 1, 3, 4} {
		status := []perdure.TaskStatus{perdure.TaskCompleted, perdure.TaskFailed, perdure.TaskCompleted, perdure.TaskCancelled, perdure.TaskInterrupted}[n%5]
		t := endedTask(id, n, status, size)
		if status != perdure.TaskCompleted {
			t.Error = &perdure.TaskError{Code: perdure.Conflict, Message: "no luck", Permanent: true}
		}
		f.putTask(t)
		f.putTask(endedTask(other, n, perdure.TaskCompleted, 9))
		f.putTask(endedTask(id, 100+n, perdure.TaskPending, 0)) // a pending task is on no page
		want = append(want, headOf(t))
	}
	for _, size := range []int{1, 3, 7, 100} {
		var got []perdure.EndedHead
		for after := int64(0); ; {
			page, err := f.s.Ended(f.ctx, id, after, size, 1<<20)
			f.must(err)
			if len(page.Heads) > size || page.From != after || page.Whole {
				f.Fatalf("a page of %d after %d is %+v", size, after, page)
			}
			got = append(got, page.Heads...)
			if after = page.Next; !page.More {
				break
			}
		}
		for i := range got {
			if ref := got[i].Result.Blob; ref != nil { // the result over InlineLimit is in a blob
				f.equal("the length of the blob", ref.Length, want[i].Size)
				tasks, err := f.s.Tasks(f.ctx, id, []uuid.UUID{got[i].ID}, false)
				f.must(err)
				f.equal("the hash of the blob", ref.SHA256, perdure.Hash(sha256.Sum256(tasks[0].Result)))
				got[i].Result.Blob = nil
			}
		}
		f.equal(fmt.Sprint("the heads in pages of ", size), got, want)
	}
	// The results of the tasks in page.Heads have at most the requested number of bytes together.
	// But a page has at least one task, even if the result of this task is larger.
	for bytes, heads := range map[int]int{0: 1, 20: 2, perdure.EndedInline: 2, perdure.EndedInline + 100: 8} {
		page, err := f.s.Ended(f.ctx, id, 0, 100, bytes)
		f.must(err)
		if len(page.Heads) != heads || page.More != (heads < len(want)) {
			f.Errorf("a page of %d bytes has %d heads, want %d", bytes, len(page.Heads), heads)
		}
	}
}

func endedBefore(f *fixture) {
	id := f.start()
	for n := range 5 {
		f.putTask(endedTask(id, n, perdure.TaskCompleted, 2))
	}
	for n := range 6 {
		after, err := f.s.EndedBefore(f.ctx, id, milestone(int64(n)))
		f.must(err)
		page, err := f.s.Ended(f.ctx, id, after, 100, 1<<20)
		f.must(err)
		if len(page.Heads) != 5-n || (after == 0) != (n == 0) {
			f.Errorf("%d heads since the moment %d, position %d", len(page.Heads), n, after)
		}
	}
}
