package setup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestListOfDataDirectories checks that OtherDataDirs returns every known data directory that exists,
// except the one it is given. Each is returned once, with symbolic links resolved. A directory that no
// longer exists is removed from the list of known ones.
func TestListOfDataDirectories(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	make := func(name string) string {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one, two, gone := make("one"), make("two"), make("gone")
	link := filepath.Join(home, "link")
	if err := os.Symlink(two, link); err != nil {
		t.Fatal(err)
	}
	byDefault := make(".local/share/perdure")
	for _, data := range []string{one, two, link, gone, byDefault} {
		ListDataDir(data)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	got := slices.DeleteFunc(OtherDataDirs(one), func(path string) bool { return path == systemDataDir })
	want := []string{byDefault, dataDirList(), two}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if entries, err := os.ReadDir(dataDirList()); err != nil || len(entries) != 3 {
		t.Errorf("entries %v, err %v", entries, err)
	}
}
