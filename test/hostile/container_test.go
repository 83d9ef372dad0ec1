//go:build linux

package hostile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// stageVariable says which part a process of this binary has: it builds a container
	// around itself, or it runs tests in one.
	stageVariable = "LIBRETTO_HOSTILE_STAGE"
	stageEnter    = "enter"
	stageInside   = "inside"
	// rootVariable is the folder that becomes the root of the container. Without it only
	// rights are dropped.
	rootVariable = "LIBRETTO_HOSTILE_ROOT"
	// canaryVariable is the file that a test inside is to guard: it can't make one.
	canaryVariable = "LIBRETTO_HOSTILE_CANARY"
)

const (
	nobody = 65534
	// notEntered is the exit status of a process that could not make its container.
	notEntered = 90
)

// enterContainer makes this process one in a container, and starts the tests anew, if it
// was started for that. It then does not return.
func enterContainer() {
	if os.Getenv(stageVariable) != stageEnter {
		return
	}
	err := enter()
	fmt.Fprintln(os.Stderr, "hostile:", err)
	os.Exit(notEntered)
}

func enter() error {
	runtime.LockOSThread() // What is dropped here is this thread's, and passed on by exec.
	binary, inside := "/proc/self/exe", []string{stageVariable + "=" + stageInside}
	if root := os.Getenv(rootVariable); root != "" {
		if err := changeRoot(root); err != nil {
			return err
		}
		binary, inside = "/hostile.test", append(inside, canaryVariable+"=/canary")
	}
	if err := dropRights(); err != nil {
		return err
	}
	return syscall.Exec(binary, os.Args, inside)
}

// changeRoot makes a file system of its own the root, with this binary and little else,
// and makes it read-only.
func changeRoot(root string) error {
	if err := fillRoot(root); err != nil {
		return err
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("umount: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return fmt.Errorf("a read-only root: %w", err)
	}
	return nil
}

func fillRoot(root string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("a private mount: %w", err)
	}
	if err := unix.Mount("tmpfs", root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("tmpfs: %w", err)
	}
	binary, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	return errors.Join(
		put(filepath.Join(root, "canary"), fileSecret), bind(binary, filepath.Join(root, "hostile.test")),
		os.Mkdir(filepath.Join(root, "etc"), 0o755), put(filepath.Join(root, "etc/passwd"), "root:x:0:0::/:/bin/sh\n"),
		os.Mkdir(filepath.Join(root, "dev"), 0o755), bind("/dev/null", filepath.Join(root, "dev/null")),
		bind("/dev/zero", filepath.Join(root, "dev/zero")), mountProc(filepath.Join(root, "proc")),
	)
}

func put(path, text string) error { return os.WriteFile(path, []byte(text), 0o644) }

func bind(from, to string) error {
	if err := put(to, ""); err != nil {
		return err
	}
	return unix.Mount(from, to, "", unix.MS_BIND, "")
}

// mountProc mounts that of the process's own namespace or, where parts of the outer one
// are hidden and that is therefore not permitted, the outer one.
func mountProc(at string) error {
	if err := os.Mkdir(at, 0o555); err != nil {
		return err
	}
	err := unix.Mount("proc", at, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if errors.Is(err, fs.ErrPermission) {
		return unix.Mount("/proc", at, "", unix.MS_BIND|unix.MS_REC, "")
	}
	return err
}

// dropRights makes the process nobody's, for good, under the profile.
func dropRights() error {
	for capability := range uintptr(64) {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0) // Not all numbers are one.
	}
	if os.Getuid() != nobody {
		if err := errors.Join(unix.Setgroups(nil), unix.Setresgid(nobody, nobody, nobody), unix.Setresuid(nobody, nobody, nobody)); err != nil {
			return fmt.Errorf("another user: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	return applyProfile()
}
