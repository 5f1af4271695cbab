package tool

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
)

func TestOpenWorkspaceErrors(t *testing.T) {
	root := t.TempDir()
	outside := t.TempDir()
	put(t, filepath.Join(root, "file"), "")
	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(root, "data")
	put(t, filepath.Join(data, "ws", "x"), "")
	tests := []struct {
		name, root, dir, data, want string
	}{
		{"missing", root, "nowhere", "", "nowhere (in " + root + ") cannot be used: it does not exist"},
		{"missing root", root + "/gone", "", "", root + "/gone cannot be used: it does not exist"},
		{"a file", root, "file", "", "not a directory"},
		{"dots", root, "../x", "", "outside the workspace"},
		{"a symlink out", root, "link", "", "outside the workspace"},
		{"absolute", root, outside, "", "outside the workspace"},
		{"in the data directory", root, "data/ws", data, "lies inside the data directory"},
		{"missing data directory", root, "", root + "/gone", "does not exist"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := OpenWorkspace(tt.root, tt.dir, WorkspaceOptions{DataDir: tt.data, Unconfined: true})
			if !perdure.IsCode(err, perdure.InvalidArgument) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want invalid_argument with %q", err, tt.want)
			}
		})
	}
}

// TestFileToolsStayInTheWorkspace checks that file tools do not leave the workspace through
// absolute paths, ".." or symlinks.
func TestFileToolsStayInTheWorkspace(t *testing.T) {
	outside := t.TempDir()
	put(t, filepath.Join(outside, "secret"), "top secret")
	w := plainWorkspace(t, "sub/a.txt", "inside")
	for link, to := range map[string]string{
		"file": filepath.Join(outside, "secret"), "folder": outside, "sub/up": "../..", "new": filepath.Join(outside, "new"),
	} {
		if err := os.Symlink(to, filepath.Join(w.Dir(), link)); err != nil {
			t.Fatal(err)
		}
	}
	relative, err := filepath.Rel(w.Dir(), filepath.Join(outside, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{
		filepath.Join(outside, "secret"), relative, "sub/../" + relative, "file", "folder/secret",
		"sub/up/" + filepath.Base(outside) + "/secret", "new", "folder/made/here",
	}
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			wantRefused(t, w, path, "top secret")
			for _, c := range callsAt(t, filepath.Dir(path)) {
				if r := use(t, w, c.tool, c.args); strings.Contains(r.PlainText(), "top secret") {
					t.Errorf("%s leaks: %s", c.tool, r.PlainText())
				}
			}
		})
	}
	wantOK(t, use(t, w, "grep", args{"pattern": "secret"}), "No matches.")
	wantOK(t, use(t, w, "find", args{"pattern": "secret"}), "Nothing found.")
	if got := content(t, filepath.Join(outside, "secret")); got != "top secret" {
		t.Errorf("the file outside is now %q", got)
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("something was made outside: %v, %v", entries, err)
	}
}

func TestFileToolsKeepOutOfADataDirectoryInside(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "sub", "data")
	put(t, filepath.Join(data, "token"), "top secret")
	put(t, filepath.Join(dir, "sub", "ok"), "not secret")
	for link, to := range map[string]string{"link": "sub/data", "sub/file": "data/token", "self": "."} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	w := openDir(t, dir, WorkspaceOptions{DataDir: data, Unconfined: true})
	for _, path := range []string{"sub/data/token", "link/token", "sub/file", "self/sub/data/token", "link/new/x", filepath.Join(data, "token")} {
		wantRefused(t, w, path, "top secret")
	}
	wantError(t, use(t, w, "find", args{"path": "link", "pattern": "**"}), "data directory")
	for _, path := range []string{"", "self", "sub"} {
		r := use(t, w, "grep", args{"path": path, "pattern": "secret"})
		wantOK(t, r, "not secret")
		if strings.Contains(r.PlainText(), "top") {
			t.Errorf("grep in %q: %s", path, r.PlainText())
		}
		if r := use(t, w, "find", args{"path": path, "pattern": "token"}); r.PlainText() != "Nothing found." {
			t.Errorf("find in %q: %s", path, r.PlainText())
		}
	}
	entries, _ := os.ReadDir(data)
	if len(entries) != 1 || content(t, filepath.Join(data, "token")) != "top secret" {
		t.Error("the data directory was changed")
	}
}

func TestReadFile(t *testing.T) {
	var long strings.Builder
	for i := 1; i <= 4500; i++ {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	w := plainWorkspace(t,
		"a.txt", "one\r\ntwo\nthree", "empty", "", "bin", "ELF\x00\x01", "long", long.String(), "latin", "caf\xe9\n",
		"wide", strings.Repeat("é", 5000)+"\nnext\n", "blob", strings.Repeat(strings.Repeat("y", 1000)+"\n", 1900))
	read := func(a args) Result { return use(t, w, "read-file", a) }

	if got, want := read(args{"path": "a.txt"}).PlainText(), "     1\tone\n     2\ttwo\n     3\tthree\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	wantOK(t, read(args{"path": filepath.Join(w.Dir(), "a.txt"), "offset": 0}), "1\tone")
	if got, want := read(args{"path": "a.txt", "offset": 2, "limit": 1}).PlainText(), "     2\ttwo\n[The file goes on. Read on with offset 3.]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if r := read(args{"path": "a.txt", "offset": 2, "limit": 2}); strings.Contains(r.PlainText(), "goes on") {
		t.Errorf("the file does not go on: %s", r.PlainText())
	}
	wantOK(t, read(args{"path": "long"}), "  2000\tline 2000\n[The file goes on. Read on with offset 2001.]")
	wantOK(t, read(args{"path": "long", "offset": 4001}), "  4001\tline 4001\n", "  4500\tline 4500\n")
	wantOK(t, read(args{"path": "long", "offset": 4500, "limit": 1 << 62}), "line 4500")
	wantOK(t, read(args{"path": "wide"}), "é [8000 more bytes in this line]\n     2\tnext\n")
	wantOK(t, read(args{"path": "latin"}), "caf\uFFFD\n")
	wantOK(t, read(args{"path": "empty"}), "(empty is empty)")
	if r := read(args{"path": "blob"}); len(r.PlainText()) > readBytes+5000 {
		t.Errorf("the answer has %d bytes", len(r.PlainText()))
	} else {
		wantOK(t, r, "[The file goes on. Read on with offset ")
	}
	wantError(t, read(args{"path": "a.txt", "offset": 4}), "only 3 lines")
	wantError(t, read(args{"path": "bin"}), "binary file (5 bytes)")
	wantError(t, read(args{"path": "."}), "is a directory")
	wantError(t, read(args{"path": "nope"}), "Cannot read nope: it does not exist.")
	wantError(t, read(args{"path": "a.txt", "limit": -1}), "limit: minimum")
}

func TestReadFileShowsImages(t *testing.T) {
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	w := plainWorkspace(t, "picture", buf.String(), "huge.png", buf.String()+strings.Repeat("x", imageBytes),
		"cut.png", buf.String()[:buf.Len()-1])
	got := use(t, w, "read-file", args{"path": "picture"})
	want := Result{Parts: []perdure.Part{{
		Type: perdure.PartImage, MimeType: "image/png", Data: base64.StdEncoding.EncodeToString(buf.Bytes()),
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantError(t, use(t, w, "read-file", args{"path": "huge.png"}), "at most 5242880 can be shown")
	wantError(t, use(t, w, "read-file", args{"path": "cut.png"}), "cut off or damaged")
}

// TestFileToolsRefuseAPipe checks that file tools refuse a named pipe. To open a pipe without a
// writer would block forever.
func TestFileToolsRefuseAPipe(t *testing.T) {
	w := plainWorkspace(t)
	if err := syscall.Mkfifo(filepath.Join(w.Dir(), "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range callsAt(t, "pipe") {
		wantError(t, use(t, w, c.tool, c.args), "neither a file nor a directory")
	}
}

func TestWriteFile(t *testing.T) {
	w := plainWorkspace(t, "old.sh", "#!/bin/sh\necho 1\n", "other", "kept")
	old := filepath.Join(w.Dir(), "old.sh")
	if err := os.Chmod(old, 0o751); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("other", filepath.Join(w.Dir(), "link")); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) Result {
		return use(t, w, "write-file", args{"path": path, "content": text})
	}
	wantOK(t, write("new/deep/file.txt", "a\nb"), "Created new/deep/file.txt (2 lines).")
	wantOK(t, write("old.sh", "#!/bin/sh\necho 2\n"), "Replaced old.sh (2 lines).", "-echo 1\n+echo 2")
	wantOK(t, write("link", "through"), "Replaced link")
	wantError(t, write("new", "x"), "it is a directory")
	wantError(t, write("other/x", "x"), "not a directory")

	if info, err := os.Stat(old); err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("mode is %v, %v", info.Mode(), err)
	}
	if got := content(t, filepath.Join(w.Dir(), "other")); got != "through" {
		t.Errorf("what the symlink leads to is %q", got)
	}
	if info, err := os.Lstat(filepath.Join(w.Dir(), "link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the symlink was replaced")
	}
	if got := content(t, filepath.Join(w.Dir(), "new/deep/file.txt")); got != "a\nb" {
		t.Errorf("got %q", got)
	}
	if r := use(t, w, "find", args{"pattern": ".tmp-*"}); r.PlainText() != "Nothing found." {
		t.Errorf("temporary files stay: %s", r.PlainText())
	}
}

func TestFileToolsEmitEvents(t *testing.T) {
	w := plainWorkspace(t, "a.txt", "one\n")
	var got []any
	for _, c := range []struct {
		tool string
		a    args
	}{
		{"read-file", args{"path": "a.txt"}},
		{"write-file", args{"path": "d/new.txt", "content": "x"}},
		{"edit-file", args{"path": "./a.txt", "oldString": "one", "newString": "two"}},
		{"edit-file", args{"path": "a.txt", "oldString": "missing", "newString": "two"}},
		{"write-file", args{"path": "..", "content": "x"}},
	} {
		call := callOf(t, w, c.a)
		call.Emit = func(data any) { got = append(got, data) }
		run(t, c.tool, call)
	}
	want := []any{
		Event{Type: "file_read", Path: "a.txt"},
		Event{Type: "file_write", Path: "d/new.txt"},
		Event{Type: "artifact", Path: "d/new.txt", Action: "created"},
		Event{Type: "file_write", Path: "a.txt"},
		Event{Type: "artifact", Path: "a.txt", Action: "modified"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFileToolsDoNothingOnceCancelled(t *testing.T) {
	w := plainWorkspace(t, "a.txt", "one\n", "big", strings.Repeat("x\n", 5000))
	why := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for tool, a := range map[string]args{
		"write-file": {"path": "new", "content": ""}, "edit-file": {"path": "a.txt", "oldString": "one", "newString": "two"},
		"read-file": {"path": "big"}, "grep": {"pattern": "nothing"}, "find": {"pattern": "nothing"},
	} {
		if _, err := builtin(t, tool).Run(ctx, callOf(t, w, a)); !errors.Is(err, why) {
			t.Errorf("%s: err = %v, want the cause", tool, err)
		}
	}
	if got := content(t, filepath.Join(w.Dir(), "a.txt")); got != "one\n" {
		t.Errorf("the file is %q", got)
	}
}
