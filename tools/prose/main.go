// Prose checks the language of comments in Go files: difficult phrases and sentences that are too
// long. It prints each finding with its file and line. It fails if the findings per hundred
// sentences exceed the limit.
//
//	prose [-limit 1.0] [-v] [FILE ...]
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	limit := flag.Float64("limit", 1, "how many of a hundred sentences may have a fault")
	verbose := flag.Bool("v", false, "print the sentences, too, if there are no more than the limit")
	flag.Parse()
	all, err := read(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var report strings.Builder
	faulty := 0
	for _, s := range all {
		found := faults(s.text)
		if len(found) > 0 {
			faulty++
			fmt.Fprintf(&report, "%s:%d: %s\n\t%s\n", s.file, s.line, s.text, strings.Join(found, "; "))
		}
	}
	share := 100 * float64(faulty) / float64(max(1, len(all)))
	if share > *limit || *verbose {
		fmt.Print(report.String())
	}
	fmt.Printf("%d of %d sentences (%.2f %%) are to be rewritten; the limit is %.2f %%\n", faulty, len(all), share, *limit)
	if share > *limit {
		os.Exit(1)
	}
}

func read(names []string) ([]sentence, error) {
	var all []sentence
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		found, err := inGo(name, src)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
