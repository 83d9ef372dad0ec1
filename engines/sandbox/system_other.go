//go:build !linux

package sandbox

import "os"

// ownBinary is this program.
func ownBinary() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
