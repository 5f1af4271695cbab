package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mount is a line of /proc/self/mountinfo, see proc_pid_mountinfo(5).
type mount struct {
	id    int
	dev   string // major:minor of the file system
	root  string // what of it is mounted
	point string // where
	kind  string // of file system
}

func readMounts() ([]mount, error) {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var mounts []mount
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		id, err := strconv.Atoi(f[0])
		if err != nil {
			return nil, fmt.Errorf("mountinfo: %w", err)
		}
		m := mount{id: id, dev: f[2], root: unescapeMount(f[3]), point: unescapeMount(f[4])}
		// Optional fields end with a dash.
		if i := slices.Index(f, "-"); i > 0 && i+1 < len(f) {
			m.kind = f[i+1]
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func unescapeMount(s string) string { return mountEscapes.Replace(s) }

// mountID is the mount that path is reached by.
func mountID(path string) (int, error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &st); err != nil {
		return 0, err
	}
	return int(st.Mnt_id), nil
}

// otherViews are the paths other than path by which mounts show the folder id,
// which is at path, or a part of it.
func otherViews(path string, id identity) ([]string, error) {
	mounts, err := readMounts()
	if err != nil {
		return nil, err
	}
	own, err := mountID(path)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(mounts, func(m mount) bool { return m.id == own })
	if i < 0 {
		return nil, fmt.Errorf("%s is on a mount that is not listed", path)
	}
	inside, err := filepath.Rel(mounts[i].point, path)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(mounts[i].root, inside)
	var views []string
	for _, m := range mounts {
		if m.id == own || m.dev != mounts[i].dev {
			continue
		}
		if view, shown := m.shows(folder, id); shown && view != path {
			views = append(views, view)
		}
	}
	return views, nil
}

// shows reports whether m shows folder, a path in its file system, or a part of
// it, and where.
func (m mount) shows(folder string, id identity) (view string, shown bool) {
	if within(m.root, folder) && m.root != folder {
		at, err := mountID(m.point)
		return m.point, err == nil && at == m.id
	}
	if !within(folder, m.root) {
		return "", false
	}
	rel, err := filepath.Rel(m.root, folder)
	if err != nil {
		return "", false
	}
	view = filepath.Join(m.point, rel)
	at, err := identityAt(view)
	return view, err == nil && at == id
}
