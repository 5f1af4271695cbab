package storetest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
	"pgregory.net/rapid"
)

var resultTests = map[string]func(*fixture){
	"an event that says a tool's result again reads as it was written": eventSaysResult,
	"a result that the entry made from it says again names the entry":  resultNamesEntry,
	"a result in a blob names the entry, and reads in every way":       resultInBlob,
	"a result that an entry says otherwise, or little of, is kept":     resultKept,
	"a task that gets another result holds it":                         resultReplaced,
	"any result reads the same, byte for byte, once it names an entry": resultProperty,
	"results that name entries go with their execution":                resultsPruned,
	"an entry's own blob is not made to name another entry":            resultSharesBlob,
}

// ended writes a completed task with a result, and returns its id.
func (a *author) ended(result json.RawMessage, ref *perdure.BlobRef) uuid.UUID {
	a.Helper()
	t := wholeTask(a.id)
	t.ID, t.Key, t.Status, t.Error, t.Step = uuid.New(), "task:"+uuid.NewString(), perdure.TaskCompleted, nil, false
	t.Result, t.ResultBlob = result, ref
	a.change(a.id, func(*store.State) *store.Changes {
		c := &store.Changes{Tasks: []*perdure.Task{t}}
		if ref != nil {
			c.OwnBlobs = []uuid.UUID{ref.ID}
		}
		return c
	})
	return t.ID
}

// entryOf writes an entry. The entry's key says that the entry was made from the result of the
// task.
func (a *author) entryOf(task uuid.UUID, content json.RawMessage) uuid.UUID {
	a.Helper()
	id := uuid.New()
	a.change(a.id, func(s *store.State) *store.Changes {
		return &store.Changes{Entries: []store.Entry{{Entry: perdure.Entry{
			ID: id, Type: perdure.EntryLLMCall, Content: content, CreatedAt: s.Now, Key: perdure.TaskEntryKey(task),
		}}}}
	})
	return id
}

// rest describes how the result of a task is stored. It returns nil if the stored result does not
// refer to an entry.
func (a *author) rest(task uuid.UUID) *store.ResultRest {
	a.Helper()
	all, err := invariants.AuditorOf(a.s).AuditResults(a.ctx, a.id)
	a.must(err)
	at := slices.IndexFunc(all, func(r store.ResultRest) bool { return r.Task == task })
	if at < 0 {
		return nil
	}
	return &all[at]
}

// views reads a task through each method that returns tasks.
func (a *author) views(task uuid.UUID) map[string]*perdure.Task {
	a.Helper()
	all := map[string]*perdure.Task{"whole": a.task(a.id, task)}
	lazy, err := a.s.Tasks(a.ctx, a.id, []uuid.UUID{task}, true)
	a.must(err)
	all["lazy"] = lazy[0]
	page, err := a.s.ListTasks(a.ctx, a.id, true, "", 100)
	a.must(err)
	for _, t := range page.Items {
		if t.ID == task {
			all["listed"] = t
		}
	}
	page, err = a.s.Lazy().ListTasks(a.ctx, a.id, true, "", 100)
	a.must(err)
	for _, t := range page.Items {
		if t.ID == task {
			all["listed lazily"] = t
		}
	}
	return all
}

// answer returns the result of a model call as JSON. The result contains the content of the entry
// that a test makes from the result later.
func answer(entry json.RawMessage) json.RawMessage {
	return slices.Concat([]byte(`{"content":`), entry, []byte(`,"providerResponseId":"msg_1","latencyMs":12}`))
}

func resultNamesEntry(f *fixture) {
	a := f.author()
	message := content(said("thinking about it", strings.Repeat("an <answer> ", 20), `{"a":1}`, "é"))
	parts := content(perdure.Content{Parts: []perdure.Part{perdure.Text(strings.Repeat("of a tool ", 20))}})
	inner := parts[len(`{"parts":`) : len(parts)-1]
	for name, c := range map[string]struct{ result, entry json.RawMessage }{
		"a model's answer":  {answer(message), message},
		"a tool's result":   {parts, slices.Concat([]byte(`{"parts":[{"type":"toolResult","toolCallId":"c","parts":`), inner, []byte(`}]}`))},
		"a member's member": {slices.Concat([]byte(`{"output":{"n":1,"all":`), inner, []byte("}}  ")), parts},
		"a text":            {content(perdure.Content{Model: strings.Repeat("m", 100)})[len(`{"parts":null,"model":`):][:102], content(perdure.Content{Model: strings.Repeat("m", 100)})},
	} {
		task := a.ended(c.result, nil)
		before := a.views(task)
		f.equal(name, string(before["whole"].Result), string(c.result))
		entry := a.entryOf(task, c.entry)
		f.equal(name+", read", a.views(task), before)
		rest := a.rest(task)
		if rest == nil || rest.Entry != entry || rest.Held > 64 {
			f.Errorf("%s rests as %+v", name, rest)
		}
	}
}

func resultInBlob(f *fixture) {
	a := f.author()
	message := content(said("hm", strings.Repeat("né ", 3*perdure.BlobChunk/4), "{}", "x"))
	result := answer(message)
	uploaded := f.upload(a.id, result, perdure.BlobChunk)
	for name, task := range map[string]uuid.UUID{"in place": a.ended(result, nil), "uploaded": a.ended(nil, &uploaded)} {
		before := a.views(task)
		ref := *before["lazy"].ResultBlob
		// This read of the blob begins before the entry is written, and continues after it.
		reader, err := f.s.Blob(f.ctx, a.id, ref.ID)
		f.must(err)
		first := make([]byte, 10)
		if _, err := reader.Read(first); err != nil {
			f.Fatal(err)
		}
		entry := a.entryOf(task, message)
		rest := a.rest(task)
		if rest == nil || rest.Entry != entry || rest.Held > 64 {
			f.Errorf("the result %s rests as %+v", name, rest)
		}
		f.equal("the task whose result was "+name, a.views(task), before)
		var read bytes.Buffer
		_, err = read.ReadFrom(reader)
		f.must(err)
		f.must(reader.Close())
		if string(first)+read.String() != string(result) {
			f.Errorf("a blob %s that became a name while it was read gave %d bytes of %d", name, 10+read.Len(), len(result))
		}
		f.equal("the blob", f.blob(a.id, ref.ID), []byte(result))
		row, err := f.s.BlobOf(f.ctx, a.id, ref.SHA256)
		f.must(err)
		f.equal("the length of the blob with its hash", row.Held, ref.Length)
	}
	// A content over the limit MostSearched is not searched for texts.
	huge := content(perdure.Content{Parts: []perdure.Part{perdure.Text(strings.Repeat("x", store.MostSearched))}})
	task := a.ended(answer(huge), nil)
	before := a.views(task)
	a.entryOf(task, huge)
	f.equal("a huge result", a.views(task), before)
	if a.rest(task) != nil {
		f.Error("a huge result names an entry")
	}
}

func resultKept(f *fixture) {
	a, other := f.author(), f.author()
	message := content(perdure.Content{Parts: []perdure.Part{perdure.Text(strings.Repeat("words ", 30))}})
	spaced := bytes.ReplaceAll(message, []byte(`,`), []byte(`, `))
	for name, task := range map[string]uuid.UUID{
		"with other spaces":      a.ended(spaced, nil),
		"with much beside":       a.ended(slices.Concat([]byte(`{"more":"`), bytes.Repeat([]byte("m"), perdure.InlineLimit), []byte(`","content":`), message, []byte(`}`)), nil),
		"that is short":          a.ended(json.RawMessage(`"words"`), nil),
		"that is null":           a.ended(json.RawMessage(`null`), nil),
		"of another execution's": other.ended(message, nil),
	} {
		a.entryOf(task, message)
		if rest := a.rest(task); rest != nil {
			f.Errorf("a result %s rests as %+v", name, rest)
		}
	}
	// An entry that was not made from the task has no effect on the task's result, even with the
	// same content.
	task := a.ended(answer(message), nil)
	a.write(nil, message)
	if rest := a.rest(task); rest != nil {
		f.Errorf("a result names an entry that was not made from it: %+v", rest)
	}
}

func resultReplaced(f *fixture) {
	a := f.author()
	message := content(perdure.Content{Parts: []perdure.Part{perdure.Text(strings.Repeat("words ", 30))}})
	id := a.ended(answer(message), nil)
	a.entryOf(id, message)
	change := func(edit func(t *perdure.Task)) {
		f.do(store.Command{Execution: a.id, Needs: func(*perdure.Execution) store.Needs { return store.Needs{Tasks: []uuid.UUID{id}} }, Decide: func(s *store.State) (*store.Changes, error) {
			edit(s.Tasks[id])
			return &store.Changes{Tasks: []*perdure.Task{s.Tasks[id]}}, nil
		}})
	}
	change(func(t *perdure.Task) { t.Kind = "other" }) // the result of the task is kept
	f.equal("the result", string(a.task(a.id, id).Result), string(answer(message)))
	change(func(t *perdure.Task) { t.Result = json.RawMessage(`"another"`) })
	f.equal("the result after it was replaced", string(a.task(a.id, id).Result), `"another"`)
	if rest := a.rest(id); rest != nil {
		f.Errorf("it still rests as %+v", rest)
	}
}

// resultProperty checks that task results are read unchanged after an entry that repeats some of
// their texts was written. The texts are random.
func resultProperty(f *fixture) {
	a := f.author()
	rapid.Check(f, func(t *rapid.T) {
		entry := content(said(anyText(t), strings.Repeat(anyText(t), rapid.IntRange(1, 30).Draw(t, "times")), anyText(t), anyText(t)))
		var parts struct{ Parts []json.RawMessage }
		must(json.Unmarshal(entry, &parts))
		result := rapid.SampledFrom([]json.RawMessage{
			entry, answer(entry), parts.Parts[1], escaped(entry),
			slices.Concat([]byte(" {\"a\" : {\"b\":"), entry, []byte("\n,\"c\":[1, 2]} } ")),
			slices.Concat([]byte(`[`), entry, []byte(`]`)),
		}).Draw(t, "result")
		task := a.ended(result, nil)
		before := a.views(task)
		a.entryOf(task, entry)
		f.equal("the task", a.views(task), before)
		f.equal("the result", string(a.task(a.id, task).Result), string(result))
		if f.Failed() {
			t.FailNow()
		}
	})
}

func resultsPruned(f *fixture) {
	for _, whole := range []bool{false, true} {
		a := f.author()
		message := content(perdure.Content{Parts: []perdure.Part{perdure.Text(strings.Repeat("words ", 30))}})
		large := content(perdure.Content{Parts: []perdure.Part{perdure.Text(strings.Repeat("words ", perdure.InlineLimit))}})
		var tasks []uuid.UUID
		for range 10 {
			for _, m := range []json.RawMessage{message, large} {
				tasks = append(tasks, a.ended(answer(m), nil))
				a.entryOf(tasks[len(tasks)-1], m)
			}
		}
		f.endExecution(a.id, f.s.Now())
		f.prune(a.id, store.Prune{Log: !whole, Execution: whole})
		f.drop(7)
		if whole {
			f.wantGone(a.id)
			continue
		}
		for i, task := range tasks {
			f.equal("a result after the log has gone", string(a.task(a.id, task).Result), string(answer([]json.RawMessage{message, large}[i%2])))
		}
	}
}

func resultSharesBlob(f *fixture) {
	a := f.author()
	message := content(perdure.Content{Parts: []perdure.Part{perdure.Text(strings.Repeat("words ", perdure.InlineLimit))}})
	ref := f.upload(a.id, message, perdure.BlobChunk)
	task := a.ended(nil, &ref)
	before := a.views(task)
	a.change(a.id, func(s *store.State) *store.Changes {
		return &store.Changes{Entries: []store.Entry{{Entry: perdure.Entry{
			ID: uuid.New(), Type: perdure.EntryLLMCall, Blob: &ref, CreatedAt: s.Now, Key: perdure.TaskEntryKey(task),
		}}}}
	})
	f.equal("the task", a.views(task), before)
	if rest := a.rest(task); rest != nil {
		f.Errorf("it rests as %+v", rest)
	}
}
