package directory_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/scripts/directory"
)

// follow follows a directory for the time of the test.
func follow(t *testing.T, root, folder string) <-chan directory.Contents {
	t.Helper()
	changes := make(chan directory.Contents, 1000)
	f := directory.Follower{Root: root, Folder: folder, Log: logr.Discard(), Changed: func(c directory.Contents) { changes <- c }}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return changes
}

// becomes waits until the directory is reported to hold files; nil stands for no directory.
func becomes(t *testing.T, changes <-chan directory.Contents, want map[string]string) {
	t.Helper()
	var last map[string]string
	for deadline := time.After(8 * time.Second); ; {
		select {
		case c := <-changes:
			if last = c.Files; (last == nil) == (want == nil) && cmp.Equal(want, last) {
				return
			}
		case <-deadline:
			t.Fatalf("not reported in time, -want, +last reported:\n%s", cmp.Diff(want, last))
		}
	}
}

func remove(t *testing.T, at string) {
	t.Helper()
	if err := os.RemoveAll(at); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

type files = map[string]string

func TestFollowEdits(t *testing.T) {
	root := disk(t, files{"h/sync.js": "1"})
	changes := follow(t, root, "h")
	becomes(t, changes, files{"sync.js": "1"})
	write(t, root+"/h/sync.js", "2")
	becomes(t, changes, files{"sync.js": "2"})
	write(t, root+"/h/.sync.js.tmp", "3")
	rename(t, root+"/h/.sync.js.tmp", root+"/h/sync.js")
	becomes(t, changes, files{"sync.js": "3"})
	write(t, root+"/h/lib/deep/k.js", "k")
	becomes(t, changes, files{"sync.js": "3", "lib/deep/k.js": "k"})
	write(t, root+"/h/lib/deep/k.js", "kk")
	becomes(t, changes, files{"sync.js": "3", "lib/deep/k.js": "kk"})
	remove(t, root+"/h/lib")
	becomes(t, changes, files{"sync.js": "3"})
}

func TestFollowComesAndGoes(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "scripts")
	changes := follow(t, root, "a/h")
	becomes(t, changes, nil)
	write(t, root+"/a/h/sync.js", "1")
	becomes(t, changes, files{"sync.js": "1"})
	remove(t, root+"/a")
	becomes(t, changes, nil)
	write(t, root+"/a/h/sync.js", "2")
	becomes(t, changes, files{"sync.js": "2"})
	write(t, root+"/a/new/sync.js", "3")
	rename(t, root+"/a/h", root+"/a/old")
	rename(t, root+"/a/new", root+"/a/h")
	becomes(t, changes, files{"sync.js": "3"})
	write(t, root+"/a/h/sync.js", "4")
	becomes(t, changes, files{"sync.js": "4"})
}

// A link to a folder may be made to lead elsewhere, as releases on a disk are switched.
func TestFollowLinkedFolder(t *testing.T) {
	root := disk(t, files{"releases/1/sync.js": "1", "releases/2/sync.js": "2", "h": "-> releases/1"})
	changes := follow(t, root, "h")
	becomes(t, changes, files{"sync.js": "1"})
	if err := os.Symlink("releases/2", root+"/next"); err != nil {
		t.Fatal(err)
	}
	rename(t, root+"/next", root+"/h")
	becomes(t, changes, files{"sync.js": "2"})
	write(t, root+"/releases/2/sync.js", "3")
	becomes(t, changes, files{"sync.js": "3"})
}

// mount writes the next state of a volume as the kubelet does.
func mount(t *testing.T, dir string, n int, volume files) {
	t.Helper()
	before, _ := os.Readlink(dir + "/..data")
	next := fmt.Sprintf("..2024_%d", n)
	for name, text := range volume {
		write(t, dir+"/"+next+"/"+name, text)
	}
	if err := os.Symlink(next, dir+"/..data_tmp"); err != nil {
		t.Fatal(err)
	}
	rename(t, dir+"/..data_tmp", dir+"/..data")
	for name := range volume {
		top, _, _ := strings.Cut(name, "/")
		if _, err := os.Lstat(dir + "/" + top); err != nil {
			if err := os.Symlink("..data/"+top, dir+"/"+top); err != nil {
				t.Fatal(err)
			}
		}
	}
	if before != "" {
		remove(t, dir+"/"+before)
	}
}

// What is reported of a mounted volume is of one moment: its two files always agree.
func TestFollowMountedVolume(t *testing.T) {
	root := disk(t, nil)
	dir := root + "/h"
	volume := func(n int) files {
		return files{"sync.js": fmt.Sprint(n), "lib/k.js": fmt.Sprint(n)}
	}
	mount(t, dir, 0, volume(0))
	changes := follow(t, root, "h")
	becomes(t, changes, volume(0))
	read := make(chan error, 1)
	stop := make(chan struct{})
	go func() {
		defer close(read)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if c := directory.Read(root, "h"); c.Files["sync.js"] != c.Files["lib/k.js"] || (c.Err == nil && len(c.Files) != 2) {
				read <- fmt.Errorf("half of one state and half of another: %v", c.Files)
				return
			}
		}
	}()
	for n := range 500 {
		mount(t, dir, n+1, volume(n+1))
	}
	becomes(t, changes, volume(500))
	close(stop)
	if err := <-read; err != nil {
		t.Error(err)
	}
}

// TestRenamedAway has a directory renamed and removed again and again. A watch that the kernel has dropped by then is an error that must be
// taken from the watcher while the directories that it watches are set.
func TestRenamedAway(t *testing.T) {
	root := t.TempDir()
	folder, gone := filepath.Join(root, "d"), filepath.Join(root, "gone")
	changes := follow(t, root, "d")
	for n := range 500 {
		if err := os.MkdirAll(filepath.Join(folder, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		if n%5 == 0 {
			write(t, filepath.Join(folder, "a.js"), fmt.Sprint(n))
			becomes(t, changes, map[string]string{"a.js": fmt.Sprint(n)})
		}
		rename(t, folder, gone)
		remove(t, gone)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "a.js"), "last")
	becomes(t, changes, map[string]string{"a.js": "last"})
}
