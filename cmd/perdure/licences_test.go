package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

// allowed are the licences that permit the distribution of the program and its web pages.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSD", "ISC", "MIT", "MPL-2.0", "0BSD", "CC0-1.0", "Unlicense"}

// told lists, for each licence, a phrase that identifies its text. The first match counts. A file
// may contain several licences, so the strictest licence comes first.
var told = []struct {
	phrase  *regexp.Regexp
	licence string
}{
	{regexp.MustCompile(`GNU\s+(AFFERO|LESSER|LIBRARY)?\s*GENERAL\s+PUBLIC\s+LICENSE`), "GPL"},
	{regexp.MustCompile(`(?i)Business Source License|Server Side Public License|Commons Clause|Elastic License`), "no free licence"},
	{regexp.MustCompile(`Mozilla Public License,?\s+[Vv]ersion 2\.0`), "MPL-2.0"},
	{regexp.MustCompile(`Apache License\s+Version 2\.0`), "Apache-2.0"},
	{regexp.MustCompile(`Permission is hereby granted, free of charge`), "MIT"},
	{regexp.MustCompile(`Redistribution and use in source and binary forms`), "BSD"},
	{regexp.MustCompile(`Permission to use, copy, modify, and(/or)? distribute`), "ISC"},
	{regexp.MustCompile(`This is free and unencumbered software`), "Unlicense"},
}

// licenceOf returns the licence that the text contains; "" if the text contains no known licence.
func licenceOf(text string) string {
	for _, t := range told {
		if t.phrase.MatchString(text) {
			return t.licence
		}
	}
	return ""
}

// TestLicencesAreAllowed checks that every module of the program and of its tests has an allowed
// licence.
func TestLicencesAreAllowed(t *testing.T) {
	longtest.Skip(t, "seconds")
	list := exec.Command("go", "list", "-deps", "-test", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", "../../...")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := slices.Compact(slices.Sorted(strings.Lines(string(out))))
	found := 0
	for _, line := range modules {
		path, dir, there := strings.Cut(strings.TrimSpace(line), " ")
		if !there {
			continue
		}
		found++
		if l := licenceIn(t, dir); !slices.Contains(allowed, l) {
			t.Errorf("the module %s has the licence %q; if it may be used, say so here", path, l)
		}
	}
	if found < 50 {
		t.Errorf("only %d modules were found", found)
	}
}

// licenceIn finds the licence of a module in the files of its folder.
func licenceIn(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.ToUpper(f.Name())
		if !f.Type().IsRegular() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") && name != "UNLICENSE" {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if l := licenceOf(string(raw)); l != "" {
			return l
		}
	}
	return ""
}

// TestLicencesOfThePagesAreAllowed checks that every package of the web pages in web/package-lock.json
// has an allowed licence, except packages for development only.
func TestLicencesOfThePagesAreAllowed(t *testing.T) {
	raw, err := os.ReadFile("../../web/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct {
			License   string
			Dev, Link bool
		}
	}
	if err := json.Unmarshal(raw, &lock); err != nil {
		t.Fatal(err)
	}
	found := 0
	for path, p := range lock.Packages {
		if path == "" || p.Dev || p.Link {
			continue
		}
		found++
		choice := strings.FieldsFunc(strings.ReplaceAll(p.License, " OR ", "|"), func(r rune) bool { return strings.ContainsRune("()|", r) })
		if !slices.ContainsFunc(choice, func(l string) bool { return slices.Contains(allowed, strings.TrimSpace(l)) }) {
			t.Errorf("the package %s has the licence %q; if it may be used, say so here", path, p.License)
		}
	}
	if found < 20 {
		t.Errorf("only %d packages were found", found)
	}
}

func TestLicenceIsKnownByItsText(t *testing.T) {
	for text, want := range map[string]string{
		"GNU GENERAL PUBLIC LICENSE\nVersion 3":                            "GPL",
		"GNU AFFERO GENERAL PUBLIC LICENSE":                                "GPL",
		"MIT\nPermission is hereby granted, free of charge, to any person": "MIT",
		"Apache License\n   Version 2.0, January 2004":                     "Apache-2.0",
		"Business Source License 1.1":                                      "no free licence",
		"All rights reserved.":                                             "",
	} {
		if got := licenceOf(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
