//go:build !linux

package sandbox

import "os"

// executable returns the path of this program.
func executable() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
