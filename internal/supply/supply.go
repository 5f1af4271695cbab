// Package supply holds the rules for what is downloaded to build and test the program:
// each input is named in one version, with a checksum where its registry has one. It
// has no code of its own: the test reads the lockfiles, the modules of the tools and
// the scripts.
package supply
