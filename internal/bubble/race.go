//go:build race

package bubble

const raceBuild = true
