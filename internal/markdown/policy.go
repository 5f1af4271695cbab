package markdown

import "regexp"

var (
	languageClass = regexp.MustCompile(`^language-[\w+#.-]+$`)
	checkboxType  = regexp.MustCompile(`^checkbox$`)
	alignStyle    = regexp.MustCompile(`^text-align:(left|right|center)$`)
)
