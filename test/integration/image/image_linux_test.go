// Package image starts the host from its image, as a container runtime does: as the user of the image, with a root that nobody can write
// to. It needs no runtime, but root, for mounts of its own.
package image

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// rootVariable names the folder of the unpacked image, for the process that becomes the host.
const rootVariable = "LIBRETTO_TEST_IMAGE_ROOT"

func TestMain(m *testing.M) {
	if root := os.Getenv(rootVariable); root != "" {
		fmt.Fprintln(os.Stderr, "the image does not start:", become(root, os.Args[1:]))
		os.Exit(1)
	}
	os.Exit(cluster.Main(m))
}

// config is what an image says of how to start it.
type config struct {
	Config struct {
		User       string
		Entrypoint []string
		Env        []string
	} `json:"config"`
}

// configFile holds the config, in the root of the unpacked image.
const configFile = "config.json"

// become replaces the process with that of the image: with its root, read-only, as its user, without rights to get more.
func become(root string, args []string) error {
	runtime.LockOSThread() // Mounts and the root are the thread's.
	var c config
	if err := readJSON(filepath.Join(root, configFile), &c); err != nil {
		return err
	}
	var uid, gid int
	if _, err := fmt.Sscanf(c.Config.User, "%d:%d", &uid, &gid); err != nil || uid == 0 || gid == 0 {
		return fmt.Errorf("its user is %q, which may be root: %w", c.Config.User, err)
	}
	if err := mount(root); err != nil {
		return err
	}
	if err := os.WriteFile("/probe", nil, 0o600); !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("root can write to the root: %w", err)
	}
	for _, err := range []error{
		syscall.Setgroups(nil), syscall.Setgid(gid), syscall.Setuid(uid), unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
	} {
		if err != nil {
			return err
		}
	}
	return syscall.Exec(c.Config.Entrypoint[0], append(c.Config.Entrypoint, args...), c.Config.Env)
}

// mount makes a folder the root of this process, read-only, with the devices and processes of the machine.
func mount(root string) error {
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		return err
	}
	for _, m := range []struct {
		from, to string
		flags    uintptr
	}{
		{"", "/", syscall.MS_REC | syscall.MS_PRIVATE},
		{root, root, syscall.MS_BIND},
		{"/proc", root + "/proc", syscall.MS_BIND | syscall.MS_REC},
		{"/dev", root + "/dev", syscall.MS_BIND | syscall.MS_REC},
		{"", root, syscall.MS_BIND | syscall.MS_REMOUNT | syscall.MS_RDONLY},
	} {
		if err := syscall.Mount(m.from, m.to, "", m.flags, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.to, err)
		}
	}
	if err := syscall.Chroot(root); err != nil {
		return err
	}
	return os.Chdir("/")
}

func readJSON(path string, value any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, value)
}

// descriptor names a blob of a layout.
type descriptor struct{ Digest string }

// manifest is an index, or the manifest of an image.
type manifest struct {
	Manifests []descriptor
	Config    descriptor
	Layers    []descriptor
}

// unpack writes the files of the only image of a layout to a folder, beside its config.
func unpack(layout, root string) error {
	blob := func(d descriptor) string {
		return filepath.Join(layout, "blobs", strings.ReplaceAll(d.Digest, ":", string(filepath.Separator)))
	}
	var m manifest
	for path := filepath.Join(layout, "index.json"); ; path = blob(m.Manifests[0]) {
		m = manifest{}
		if err := readJSON(path, &m); err != nil {
			return err
		}
		if len(m.Manifests) == 0 {
			break
		}
	}
	for _, layer := range m.Layers {
		if err := unpackLayer(blob(layer), root); err != nil {
			return err
		}
	}
	return os.Link(blob(m.Config), filepath.Join(root, configFile))
}

func unpackLayer(path, root string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	zipped, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	for files := tar.NewReader(zipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := unpackFile(filepath.Join(root, header.Name), header, files); err != nil {
			return err
		}
	}
}

func unpackFile(path string, header *tar.Header, text io.Reader) error {
	switch header.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(path, header.FileInfo().Mode())
	case tar.TypeSymlink:
		return os.Symlink(header.Linkname, path)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, header.FileInfo().Mode())
	if err != nil {
		return err
	}
	_, err = io.Copy(file, text)
	return errors.Join(err, file.Close())
}

// pack makes an image of the programs in bin, and unpacks it.
func pack(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	programs, layout, root := filepath.Join(directory, "programs"), filepath.Join(directory, "layout"), filepath.Join(directory, "root")
	folder := filepath.Join(programs, "linux", runtime.GOARCH)
	for _, made := range []string{folder, filepath.Join(root, "proc"), filepath.Join(root, "dev")} {
		if err := os.MkdirAll(made, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	release, err := cluster.Binary("tools/release")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"libretto", "libretto-worker"} {
		program, err := cluster.Binary(name)
		if err == nil {
			err = os.Symlink(program, filepath.Join(folder, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), release, "layout", "v0.0.0", programs, layout, "linux/"+runtime.GOARCH)
	if command.Dir, err = cluster.Root(); err != nil {
		t.Fatal(err)
	}
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := unpack(layout, root); err != nil {
		t.Fatal(err)
	}
	return root
}

// mayMount reports whether this process has CAP_SYS_ADMIN, which root in a container has not.
func mayMount(t *testing.T) bool {
	t.Helper()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		t.Fatal(err)
	}
	return data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// TestImage starts the host from its unpacked image. It becomes ready, and runs scripts in workers.
func TestImage(t *testing.T) {
	if !mayMount(t) {
		t.Skip("it takes CAP_SYS_ADMIN to mount a root that is read-only: run the tests as root, outside of a container")
	}
	e := env.NewWithThings(t)
	user := e.NewUser("host")
	user.Bind("", "cluster-admin")
	root := pack(t)
	kubeconfig, err := os.ReadFile(user.Kubeconfig())
	e.NoError(err)
	e.NoError(os.WriteFile(filepath.Join(root, "kubeconfig"), kubeconfig, 0o644))
	programs := t.TempDir()
	self, err := os.Executable()
	e.NoError(err)
	e.NoError(os.Symlink(self, filepath.Join(programs, "libretto")))
	t.Setenv("LIBRETTO_BIN_DIR", programs)
	t.Setenv(rootVariable, root)

	e.Start("--kubeconfig=/kubeconfig")
	e.Define(env.Composite, "", e.Parent("things", ""), "generateSelector: true", env.Hooks(`
		const metadata = {name: "made", labels: {app: "image"}};
		export const sync = () => ({children: [{apiVersion: "v1", kind: "ConfigMap", metadata}]})`, "sync"),
		"childResources: [{apiVersion: v1, resource: configmaps}]")
	e.ApplyThing("a", "", "")
	e.WaitForNames(env.ConfigMaps, "app=image", "made")
}
