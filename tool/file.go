package tool

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/perdure/perdure/internal/sandbox"
	"github.com/perdure/perdure/tool/internal/guarded"
	"github.com/perdure/perdure/tool/internal/hold"
)

// local returns path as a path relative to the workspace. It also accepts an absolute path below the
// workspace, because models often use such paths.
func (w *Workspace) local(path string) (string, error) {
	if filepath.IsAbs(path) {
		rel, err := filepath.Rel(w.dir, path)
		if err != nil {
			return "", errOutside
		}
		path = rel
	}
	path = filepath.Clean(path)
	if !filepath.IsLocal(path) {
		return "", errOutside
	}
	return path, nil
}

// open opens a file or directory for reading. It refuses everything that is neither a regular file nor a
// directory, and never blocks on a pipe.
func (w *Workspace) open(rel string) (*os.File, fs.FileInfo, error) {
	f, err := w.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = w.guard(f)
	}
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = errSpecial
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// guard returns an error if the open file f is in the data directory or is a secret of this program. It
// checks the open file itself and not its name, so a symlink that changes in the meantime cannot
// deceive it.
func (w *Workspace) guard(f *os.File) error {
	if slices.ContainsFunc(w.secrets, func(h *hold.File) bool { return h.Is(f) }) {
		return errSecret
	}
	for _, h := range w.secretFolders {
		if inside, err := h.Holds(f); err != nil || inside {
			return cmp.Or(err, errSecret)
		}
	}
	if len(w.dataInside) == 0 {
		return nil
	}
	inside, err := w.data.Holds(f)
	if err != nil {
		return err
	}
	if inside {
		return errDataDir
	}
	path, err := hold.OpenedPath(f)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(w.dataInside, func(view string) bool { return sandbox.Within(path, view) }) {
		return errDataDir
	}
	return nil
}

// openFile opens a regular file for reading.
func (w *Workspace) openFile(rel string) (*os.File, fs.FileInfo, error) {
	f, info, err := w.open(rel)
	if err == nil && info.IsDir() {
		f.Close()
		return nil, nil, errIsDir
	}
	return f, info, err
}

// readFile returns the content of a regular file of at most limit bytes.
func (w *Workspace) readFile(rel string, limit int64) ([]byte, error) {
	f, info, err := w.openFile(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, errTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = errTooLarge
	}
	return data, err
}

var (
	errTooLarge   = errors.New("it is too large")
	errBrokenLink = errors.New("it is a symlink to nothing")
)

// target returns the path of the file that a write to rel must replace: rel itself or, if rel is a
// symlink, the file to which it leads. The result needs no further check, because every access goes
// through os.Root.
func (w *Workspace) target(rel string) (string, error) {
	real, err := filepath.EvalSymlinks(filepath.Join(w.dir, rel))
	if errors.Is(err, fs.ErrNotExist) {
		info, err := w.root.Lstat(rel)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", errBrokenLink
		}
		return rel, nil
	}
	if err != nil {
		return "", err
	}
	return w.local(real)
}

// replace writes data to the file rel atomically: readers see the old or the new content, even
// after a crash. It creates missing folders and keeps the mode of an existing file. The result
// `existed` says whether the file existed before the write.
func (w *Workspace) replace(rel string, data []byte) (existed bool, err error) {
	if rel, err = w.target(rel); err != nil {
		return false, err
	}
	folder, name := filepath.Dir(rel), filepath.Base(rel)
	if err := w.guardNearest(folder); err != nil {
		return false, err
	}
	if guarded.RunsLater(w.dir, filepath.Join(w.dir, rel)) {
		return false, errRunsLater
	}
	if err := w.root.MkdirAll(folder, 0o777); err != nil {
		return false, err
	}
	if err := w.guardSecret(rel); err != nil {
		return false, err
	}
	parent, err := w.root.OpenRoot(folder)
	if err != nil {
		return false, err
	}
	defer parent.Close()
	dir, err := parent.Open(".")
	if err != nil {
		return false, err
	}
	defer dir.Close()
	if err := w.guard(dir); err != nil {
		return false, err
	}
	at, err := hold.OpenedPath(dir)
	if err != nil {
		return false, err
	}
	if guarded.RunsLater(w.dir, filepath.Join(at, name)) {
		return false, errRunsLater
	}
	return writeIn(parent, dir, name, data)
}

// guardSecret returns an error if the file at the path rel is a secret of this program.
func (w *Workspace) guardSecret(rel string) error {
	if len(w.secrets) == 0 {
		return nil
	}
	f, _, err := w.open(rel)
	if errors.Is(err, errSecret) {
		return err
	}
	if err == nil {
		f.Close()
	}
	return nil // the write itself reports all other errors
}

// guardNearest applies guard to the nearest existing folder at or above rel. It is called before
// missing folders are created.
func (w *Workspace) guardNearest(rel string) error {
	for {
		f, _, err := w.open(rel)
		if err == nil {
			return f.Close()
		}
		if !errors.Is(err, fs.ErrNotExist) || rel == "." {
			return err
		}
		rel = filepath.Dir(rel)
	}
}

// writeIn replaces the file with this name in the folder `parent`: it writes a temporary file in
// that folder and renames it. The file `dir` is the same folder, opened to flush the rename to
// disk.
func writeIn(parent *os.Root, dir *os.File, name string, data []byte) (existed bool, err error) {
	old, err := parent.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return false, err
	case old.IsDir():
		return false, errIsDir
	case !old.Mode().IsRegular():
		return false, errSpecial
	}
	temp := ".tmp-" + rand.Text()
	if err := writeNew(parent, temp, old, data); err != nil {
		return false, errors.Join(err, ignoreMissing(parent.Remove(temp)))
	}
	if err := parent.Rename(temp, name); err != nil {
		return false, errors.Join(err, parent.Remove(temp))
	}
	return old != nil, dir.Sync()
}

func writeNew(parent *os.Root, name string, like fs.FileInfo, data []byte) error {
	f, err := parent.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	if like != nil {
		if err := f.Chmod(like.Mode().Perm()); err != nil {
			return err
		}
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
