package confine

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/internal/sandbox"
)

// usersFrom and usersTo are the first and the last user id that belongs to a person and not to the system.
const usersFrom, usersTo = 1000, 60000

// homePlaces returns the folders in which other users have their homes: /home, /root and the homes in
// /etc/passwd. It leaves out folders of the system, and those that contain the workspace or this user's
// home.
func homePlaces(workspace string) []string {
	own, _ := os.UserHomeDir() // "" if there is no home directory
	var places []string
	for _, path := range append([]string{"/home", "/root"}, listedHomes()...) {
		real, err := sandbox.RealPath(path)
		if err != nil || real != path || path == own || sandbox.Within(path, workspace) || own != "" && sandbox.Within(path, own) && path != "/home" {
			continue
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() || isSystem(path) {
			continue
		}
		if !slices.ContainsFunc(places, func(p string) bool { return sandbox.Within(path, p) }) {
			places = append(places, path)
		}
	}
	return places
}

// listedHomes returns the home directories of people, not of the system's users, in /etc/passwd.
func listedHomes() []string {
	f, err := os.Open("/etc/passwd")
	if err != nil {
		return nil
	}
	defer f.Close()
	var homes []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) < 7 {
			continue
		}
		uid, err := strconv.Atoi(fields[2])
		if err != nil || uid < usersFrom || uid > usersTo || uid == os.Geteuid() {
			continue
		}
		homes = append(homes, filepath.Clean(fields[5]))
	}
	return homes
}

// isSystem reports whether path is a folder that every program needs, lies in such a folder, or lies above
// one.
func isSystem(path string) bool {
	system := append([]string{"/dev", "/proc", "/sys", "/boot"}, sandbox.PrivatePaths...)
	for _, s := range append(system, systemPaths...) {
		if sandbox.Within(path, s) || sandbox.Within(s, path) {
			return true
		}
	}
	return !filepath.IsAbs(path)
}
