package contract

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	auditConstant  = regexp.MustCompile(`AuditAction = "([a-z_.]+)"`)
	documentedName = regexp.MustCompile("`([a-z_]+\\.[a-z]+)`")
)

// TestEveryAuditActionIsDocumented checks that docs/api.md lists exactly the actions of the audit log.
func TestEveryAuditActionIsDocumented(t *testing.T) {
	root := filepath.Join("..", "..")
	var known, documented []string
	for _, found := range auditConstant.FindAllStringSubmatch(readFile(t, filepath.Join(root, "audit.go")), -1) {
		known = append(known, found[1])
	}
	_, row, _ := strings.Cut(readFile(t, filepath.Join(root, "docs", "api.md")), "`action` is one of ")
	row, _, _ = strings.Cut(row, ". ")
	for _, found := range documentedName.FindAllStringSubmatch(row, -1) {
		documented = append(documented, found[1])
	}
	slices.Sort(known)
	slices.Sort(documented)
	if len(known) < 20 || !slices.Equal(known, documented) {
		t.Errorf("the actions are %q, and docs/api.md lists %q", known, documented)
	}
}
