package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Mount is one line of /proc/self/mountinfo, see proc_pid_mountinfo(5).
type Mount struct {
	ID    int
	Dev   string // device of the file system, as major:minor
	Root  string // the mounted path, within the file system
	Point string // path of the mount point
	Kind  string // type of the file system
}

// Mounts returns the mounts that this process sees.
func Mounts() ([]Mount, error) {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var mounts []Mount
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		id, err := strconv.Atoi(f[0])
		if err != nil {
			return nil, fmt.Errorf("mountinfo: %w", err)
		}
		m := Mount{ID: id, Dev: f[2], Root: unescapeMount(f[3]), Point: unescapeMount(f[4])}
		// A dash ends the line's optional fields.
		if i := slices.Index(f, "-"); i > 0 && i+1 < len(f) {
			m.Kind = f[i+1]
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func unescapeMount(s string) string { return mountEscapes.Replace(s) }

// mountID returns the id of the mount that contains path.
func mountID(path string) (int, error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &st); err != nil {
		return 0, err
	}
	return int(st.Mnt_id), nil
}

// OtherViews returns the other paths at which a mount shows the folder at path, or a part of it.
// The folder has the identity id.
func OtherViews(path string, id Identity) ([]string, error) {
	mounts, err := Mounts()
	if err != nil {
		return nil, err
	}
	own, err := mountID(path)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(mounts, func(m Mount) bool { return m.ID == own })
	if i < 0 {
		return nil, fmt.Errorf("%s is on a mount that is not listed", path)
	}
	inside, err := filepath.Rel(mounts[i].Point, path)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(mounts[i].Root, inside)
	var views []string
	for _, m := range mounts {
		if m.ID == own || m.Dev != mounts[i].Dev {
			continue
		}
		if view, shown := m.shows(folder, id); shown && view != path {
			views = append(views, view)
		}
	}
	return views, nil
}

// shows reports whether the mount shows a folder or a part of the folder. `id` is the folder's
// identity, and `folder` is its path within its file system. `view` is the path at which the mount
// shows it.
func (m Mount) shows(folder string, id Identity) (view string, shown bool) {
	if Within(m.Root, folder) && m.Root != folder {
		at, err := mountID(m.Point)
		return m.Point, err == nil && at == m.ID
	}
	if !Within(folder, m.Root) {
		return "", false
	}
	rel, err := filepath.Rel(m.Root, folder)
	if err != nil {
		return "", false
	}
	view = filepath.Join(m.Point, rel)
	at, err := IdentityAt(view)
	return view, err == nil && at == id
}
