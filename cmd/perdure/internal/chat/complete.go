package chat

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/editor"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
)

const (
	// maxFiles is the maximum number of files of the workspace that completion can offer.
	maxFiles = 20_000
	// maxCandidates is the maximum number of candidates of a completion.
	maxCandidates = 50
	// filesFresh is how long the list of the workspace's files is used before it is read again.
	filesFresh = 10 * time.Second
)

// skippedFolders are folders whose files completion does not offer.
var skippedFolders = []string{".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__", ".cache"}

// offers has what completion offers apart from the chat's commands: files of the workspace, runs and open
// questions.
type offers struct {
	mu      sync.Mutex
	root    string
	files   []string // slash paths below root, folders with a slash at the end
	listed  time.Time
	listing bool
	runs    []*perdure.Execution
	asked   []*perdure.Question // open questions of the run, newest first

	refreshing sync.Mutex // held while the questions are read, so that the newest list is set last
	reading    sync.Mutex // held while the runs are read
}

// open starts to list the files below the folder `root` in the background, for completion.
func (o *offers) open(root string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.root = root
	o.refresh()
}

// refresh lists the files again in the background if the list is older than filesFresh. The caller holds
// mu.
func (o *offers) refresh() {
	if o.listing || o.root == "" || time.Since(o.listed) < filesFresh {
		return
	}
	o.listing = true
	root := o.root
	go func() {
		files := listFiles(root)
		o.mu.Lock()
		defer o.mu.Unlock()
		o.files, o.listed, o.listing = files, time.Now(), false
	}()
}

// listFiles returns the files and folders below root. Those in fewer folders come first.
func listFiles(root string) []string {
	var files []string
	_ = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || at == root:
			return nil // completion does not offer files that cannot be read
		case len(files) == maxFiles:
			return fs.SkipAll
		case d.IsDir() && slices.Contains(skippedFolders, d.Name()):
			return fs.SkipDir
		}
		name, err := filepath.Rel(root, at)
		if err != nil {
			return nil
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			name += "/"
		}
		files = append(files, name)
		return nil
	})
	slices.SortStableFunc(files, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
	return files
}

func (o *offers) setQuestions(open []*perdure.Question) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = open
}

// openQuestions returns the number of the open questions of the run.
func (o *offers) openQuestions() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.asked)
}

// question returns the open question with the id; nil if it is not among the questions in o.asked.
func (o *offers) question(id uuid.UUID) *perdure.Question {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, q := range o.asked {
		if q.ID == id {
			return q
		}
	}
	return nil
}

func (o *offers) questionCandidates(word string) []editor.Candidate {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []editor.Candidate
	for _, q := range o.asked {
		if id := shortID(q.ID, o.asked); strings.HasPrefix(id, word) {
			all = append(all, editor.Candidate{Text: id, Note: askedText(q)})
		}
	}
	return all
}

func (o *offers) setRuns(runs []*perdure.Execution) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.runs = runs
}

// fileCandidates returns the files that match a typed text. Files whose path or name begins with
// the text come first, then files whose path contains the text elsewhere.
func (o *offers) fileCandidates(prefix string) []editor.Candidate {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refresh()
	var first, rest []editor.Candidate
	lower := strings.ToLower(prefix)
	for _, name := range o.files {
		c := editor.Candidate{Text: "@" + escapeSpaces(name)}
		known := strings.ToLower(name)
		switch {
		case strings.HasPrefix(known, lower), strings.HasPrefix(path.Base(known), lower):
			first = append(first, c)
		case len(rest) < maxCandidates && strings.Contains(known, lower):
			rest = append(rest, c)
		}
		if len(first) == maxCandidates {
			break
		}
	}
	all := append(first, rest...)
	return all[:min(len(all), maxCandidates)]
}

func escapeSpaces(name string) string { return strings.ReplaceAll(name, " ", `\ `) }

// complete returns the candidates for the last word of an input.
func (s *session) complete(text string) []editor.Candidate {
	word := text[strings.LastIndexAny(text, " \t\n")+1:]
	if file, ok := strings.CutPrefix(word, "@"); ok {
		return s.offers.fileCandidates(file)
	}
	command, _, operand := strings.Cut(text, " ")
	if !operand {
		return commandCandidates(word)
	}
	switch command {
	case "/resume":
		s.refreshRuns()
		return s.offers.runCandidates(word, s.current())
	case "/approve":
		return s.offers.questionCandidates(word)
	case "/model":
		return s.modelCandidates(word)
	}
	return nil
}

// refreshRuns starts to read the runs that completion offers, in the background. It does nothing if such a
// read is already under way.
func (s *session) refreshRuns() {
	if !s.offers.reading.TryLock() {
		return
	}
	s.reads.Go(func() {
		defer s.offers.reading.Unlock()
		ctx, cancel := context.WithTimeout(s.live, refreshWithin)
		defer cancel()
		_, _ = s.readRuns(ctx) // after an error, completion offers the previous list
	})
}

func commandCandidates(word string) []editor.Candidate {
	var all []editor.Candidate
	for _, c := range commands() {
		if strings.HasPrefix(c.name, word) {
			all = append(all, editor.Candidate{Text: c.name, Note: strings.TrimSpace(c.operand + "  " + c.about)})
		}
	}
	return all
}

// runCandidates returns the runs other than the current one whose ids begin with a word.
func (o *offers) runCandidates(word string, current uuid.UUID) []editor.Candidate {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []editor.Candidate
	for _, x := range o.runs {
		if id := x.ID.String(); x.ID != current && strings.HasPrefix(id, word) {
			all = append(all, editor.Candidate{Text: id, Note: lookup.Title(x)})
		}
	}
	return all
}
