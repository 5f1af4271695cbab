package tool

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// errEnough ends a walk early. walk then returns nil.
var errEnough = errors.New("enough")

// skippedFolders are the names of folders that grep and find skip, unless the given path is in such
// a folder.
var skippedFolders = []string{".git", "node_modules"}

// visit is a function that is called for each entry of a walk. The parameter `rel` is the path of
// the entry below the start of the walk, with slashes.
type visit func(rel string, entry fs.DirEntry) error

// walk visits the entries below the folder `start` in the order of their names, and each folder
// before its content. It does not follow symlinks, and leaves out skippedFolders, the data
// directory and folders that cannot be read. If ctx is done, it returns the context's cause.
func (w *Workspace) walk(ctx context.Context, start string, fn visit) error {
	err := w.walkFolder(ctx, start, "", fn)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (w *Workspace) walkFolder(ctx context.Context, folder, below string, fn visit) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	entries, err := w.readDir(folder)
	if err != nil {
		if below == "" {
			return err
		}
		return nil
	}
	for _, entry := range entries {
		rel := path.Join(below, entry.Name())
		inside := filepath.Join(folder, entry.Name())
		if entry.IsDir() && (slices.Contains(skippedFolders, entry.Name()) || w.isData(inside)) {
			continue
		}
		if err := fn(rel, entry); err != nil {
			return err
		}
		if entry.IsDir() {
			if err := w.walkFolder(ctx, inside, rel, fn); err != nil {
				return err
			}
		}
	}
	return nil
}

// isData reports whether the path rel, which contains no symlinks, is the data directory.
func (w *Workspace) isData(rel string) bool {
	return slices.Contains(w.dataInside, filepath.Join(w.dir, rel))
}

func (w *Workspace) readDir(rel string) ([]os.DirEntry, error) {
	f, info, err := w.open(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !info.IsDir() {
		return nil, errors.New("it is not a directory")
	}
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}
