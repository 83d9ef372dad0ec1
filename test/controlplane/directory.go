package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// maxSocketPath is the longest path of a unix socket that both Linux (107 bytes) and macOS (103) can bind.
const maxSocketPath = 103

// directory is where a control plane keeps everything: data, keys, kubeconfig and logs.
type directory struct {
	path      string
	temporary bool
	lock      *os.File
}

// openDirectory makes the directory if need be and claims it. An empty path asks for a temporary one.
func openDirectory(path string) (*directory, error) {
	d := &directory{path: path}
	if path == "" {
		temporary, err := makeTemporary()
		if err != nil {
			return nil, err
		}
		d.path, d.temporary = temporary, true
	}
	if err := d.claim(); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// makeTemporary makes a directory in the usual place, or in /tmp if the usual place's path leaves no room for a socket.
func makeTemporary() (string, error) {
	const pattern = "controlplane-"
	parent := os.TempDir()
	if len(socketPath(filepath.Join(parent, pattern+"0123456789"))) > maxSocketPath {
		parent = "/tmp"
	}
	path, err := os.MkdirTemp(parent, pattern)
	if err != nil {
		return "", fmt.Errorf("temporary directory: %w", err)
	}
	return path, nil
}

// claim makes the path absolute, checks that it can serve, and sees to it that no other control plane uses it.
func (d *directory) claim() error {
	path, err := filepath.Abs(d.path)
	if err != nil {
		return fmt.Errorf("directory %s: %w", d.path, err)
	}
	d.path = path
	if n := len(socketPath(path)); n > maxSocketPath {
		return fmt.Errorf("directory %s: path is %d bytes too long for the socket in it", path, n-maxSocketPath)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("directory %s: %w", path, err)
	}
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("directory %s: %w", path, err)
	}
	d.lock = lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("directory %s: in use by another control plane: %w", path, err)
	}
	// What an earlier run left would tell a reader that this one is ready.
	if err := os.Remove(filepath.Join(path, kubeconfigName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("directory %s: %w", path, err)
	}
	return nil
}

// close gives the directory up, and removes it if it was temporary; of one that stays only the kubeconfig goes, as it
// leads nowhere any more.
func (d *directory) close() {
	if !d.temporary {
		if d.lock != nil {
			_ = os.Remove(filepath.Join(d.path, kubeconfigName))
		}
		return
	}
	// etcd still runs and may make a file in the moment in which its directory is being removed, several times on a busy machine.
	for range 250 {
		if os.RemoveAll(d.path) == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
