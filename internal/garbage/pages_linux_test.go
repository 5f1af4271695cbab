package garbage

import (
	"crypto/sha256"
	"io"
	"os"
	"slices"
	"testing"
)

// Of what is mapped only that is let go of which is the program's file and can be
// had from it again, byte by byte.
func TestOnlyPagesThatTheFileHasAreGiven(t *testing.T) {
	const smaps = `00400000-00500000 r-xp 00001000 fe:00 13132921                           /usr/bin/perdure
Size:               1024 kB
Rss:                 900 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
00500000-00600000 r--p 00101000 fe:00 13132921                           /usr/bin/perdure
Rss:                 300 kB
Anonymous:             0 kB
00600000-00700000 r--p 00201000 fe:00 13132921                           /usr/bin/perdure
Rss:                 300 kB
Anonymous:             4 kB
00700000-00800000 rw-p 00301000 fe:00 13132921                           /usr/bin/perdure
Rss:                 300 kB
Anonymous:             0 kB
00800000-00900000 r--p 00000000 fe:00 13132922                           /usr/bin/perdure (deleted)
Rss:                 300 kB
Anonymous:             0 kB
00900000-00a00000 r-xp 00000000 fe:00 13132923                           /usr/lib/libc.so.6
Rss:                 300 kB
Anonymous:             0 kB
7ffd6000-7ffd7000 r--p 00000000 00:00 0
Rss:                   4 kB
Anonymous:             0 kB
`
	want := []extent{{0x400000, 0x500000, 900}, {0x500000, 0x600000, 300}}
	if got := unchanged([]byte(smaps), "/usr/bin/perdure"); !slices.Equal(got, want) {
		t.Errorf("it gives %x, want %x", got, want)
	}
	gone := []extent{{0x800000, 0x900000, 300}}
	if got := unchanged([]byte(smaps), "/usr/bin/perdure (deleted)"); !slices.Equal(got, gone) {
		t.Errorf("of a program whose file has been replaced it gives %x, want %x", got, gone)
	}
}

// The program's pages leave the process, and come back as they were.
func TestThePagesOfTheProgramLeaveAndComeBack(t *testing.T) {
	whole := touched(t)
	before := residentPages(t)
	givePages()
	after := residentPages(t)
	if after > before*3/4 { // what the test itself runs has come back already
		t.Errorf("%d KiB of %d stayed", after, before)
	}
	if again := touched(t); again != whole {
		t.Error("what came back is not what had left")
	}
}

// touched reads all that the program's pages hold, which maps them, and returns its
// hash.
func touched(t *testing.T) [sha256.Size]byte {
	t.Helper()
	extents, err := ownPages()
	if err != nil || len(extents) == 0 {
		t.Fatalf("the program is mapped at %v: %v", extents, err)
	}
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = memory.Close() }() // only read
	all := sha256.New()
	for _, e := range extents {
		if _, err := io.Copy(all, io.NewSectionReader(memory, int64(e.from), int64(e.to-e.from))); err != nil {
			t.Fatal(err)
		}
	}
	return [sha256.Size]byte(all.Sum(nil))
}

func residentPages(t *testing.T) (kib int) {
	t.Helper()
	extents, err := ownPages()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range extents {
		kib += e.resident
	}
	return kib
}
