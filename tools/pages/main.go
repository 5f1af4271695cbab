// Command pages packs the built pages into the archive that the program embeds, or checks that an
// archive has the files of a folder.
//
//	pages [-check] FOLDER ARCHIVE
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
)

func main() {
	check := flag.Bool("check", false, "compare the archive with the folder, and write nothing")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: pages [-check] FOLDER ARCHIVE")
		os.Exit(2)
	}
	do := pack
	if *check {
		do = compare
	}
	if err := do(flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

// contents returns the contents of all files, by their paths.
func contents(files fs.FS) (map[string][]byte, error) {
	all := map[string][]byte{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[name], err = fs.ReadFile(files, name)
		return err
	})
	return all, err
}

// pack writes the files of a folder into an archive. Equal files make equal archives: entries are
// sorted and have no times.
func pack(folder, archive string) error {
	files, err := contents(os.DirFS(folder))
	if err != nil {
		return err
	}
	out, err := os.Create(archive)
	if err != nil {
		return err
	}
	w := zip.NewWriter(out)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) { return flate.NewWriter(to, flate.BestCompression) })
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err != nil {
			return err
		}
		if _, err := f.Write(files[name]); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Close()
}

// compare returns an error if the files in the archive differ from those in the folder.
func compare(folder, archive string) error {
	want, err := contents(os.DirFS(folder))
	if err != nil {
		return err
	}
	r, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer r.Close()
	got, err := contents(r)
	if err != nil {
		return err
	}
	if !maps.EqualFunc(want, got, bytes.Equal) {
		return fmt.Errorf("%s does not have the files of %s", archive, folder)
	}
	return nil
}
