//go:build !race

package bubble

const raceBuild = false
