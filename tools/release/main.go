// Command release builds what is published of one commit.
//
//	release image VERSION OS/ARCH...    the image of the host: bin/image, an OCI layout
//	release all VERSION OS/ARCH...      that of the Linux platforms, and bin/dist: archives and their SBOMs, the manifest of the krew plugin,
//	                                    what to install, the chart, and checksums
//	release layout VERSION PROGRAMS LAYOUT OS/ARCH...    the image of programs that are built: PROGRAMS/OS/ARCH
//	release push LAYOUT IMAGE           sends an image to a registry, and prints its name with the digest
//
// It runs in the root of the checkout. One commit makes the same files, byte for byte, in any folder.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if err := run(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// Where things are, in the root of the checkout.
const (
	programsFolder = "bin/programs" // Those of each platform.
	imageFolder    = "bin/image"
	distFolder     = "bin/dist"
	krewManifest   = "manifests/krew/libretto.yaml"
	baseFolder     = "manifests/base"
	chartFolder    = "manifests/helm/libretto"
)

func run(ctx context.Context, out io.Writer, args []string) error {
	switch {
	case len(args) > 2 && args[0] == "image":
		return writeImage(ctx, out, ".", args[1], args[2:])
	case len(args) > 2 && args[0] == "all":
		return writeAll(ctx, out, ".", args[1], args[2:])
	case len(args) > 4 && args[0] == "layout":
		platforms, c, err := prepare(ctx, ".", args[4:])
		if err != nil {
			return err
		}
		for _, p := range platforms {
			if err := writeLicenses(ctx, ".", p, p.folder(args[2])); err != nil {
				return err
			}
		}
		return printDigest(out, args[3])(writeLayout(args[1], c, args[2], args[3], platforms))
	case len(args) == 3 && args[0] == "push":
		return push(ctx, out, args[1], args[2])
	default:
		return errors.New("write release image VERSION OS/ARCH..., release all VERSION OS/ARCH..., " +
			"release layout VERSION PROGRAMS LAYOUT OS/ARCH... or release push LAYOUT IMAGE")
	}
}

// semantic is the pattern of versions: krew wants the v.
var semantic = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

func checkVersion(version string) error {
	if !semantic.MatchString(version) {
		return fmt.Errorf("%q is no version of a release: write one like VERSION=v1.2.3", version)
	}
	return nil
}

// platform is what programs are built for.
type platform struct{ OS, Arch string }

func (p platform) String() string { return p.OS + "/" + p.Arch }

// folder returns where the programs of the platform are, among those of all.
func (p platform) folder(programs string) string { return filepath.Join(programs, p.OS, p.Arch) }

// prepare returns the platforms of arguments, and the commit of the checkout.
func prepare(ctx context.Context, root string, words []string) ([]platform, commit, error) {
	var platforms []platform
	for _, word := range words {
		system, arch, found := strings.Cut(word, "/")
		if !found {
			return nil, commit{}, fmt.Errorf("platform %q: write OS/ARCH", word)
		}
		platforms = append(platforms, platform{system, arch})
	}
	c, err := readCommit(ctx, root)
	return platforms, c, err
}

// writeImage builds the programs of the platforms, and writes the image of them.
func writeImage(ctx context.Context, out io.Writer, root, version string, words []string) error {
	platforms, c, err := prepare(ctx, root, words)
	if err != nil {
		return err
	}
	programs, folder := filepath.Join(root, programsFolder), filepath.Join(root, imageFolder)
	if err := build(ctx, root, version, c, programs, platforms); err != nil {
		return err
	}
	return printDigest(out, folder)(writeLayout(version, c, programs, folder, platforms))
}

// writeAll writes all that a release has.
func writeAll(ctx context.Context, out io.Writer, root, version string, words []string) error {
	platforms, c, err := prepare(ctx, root, words)
	if err != nil {
		return err
	}
	if err := checkVersion(version); err != nil {
		return err
	}
	programs, folder := filepath.Join(root, programsFolder), filepath.Join(root, distFolder)
	if err := build(ctx, root, version, c, programs, platforms); err != nil {
		return err
	}
	linux := slices.DeleteFunc(slices.Clone(platforms), func(p platform) bool { return p.OS != "linux" })
	layout := filepath.Join(root, imageFolder)
	digest, err := writeLayout(version, c, programs, layout, linux)
	if err != nil {
		return err
	}
	install, err := manifests(root, version, digest)
	if err != nil {
		return err
	}
	if err := pack(version, c, programs, folder, root, platforms, install); err != nil {
		return err
	}
	fmt.Fprintln(out, folder)
	return printDigest(out, layout)(digest, nil)
}
