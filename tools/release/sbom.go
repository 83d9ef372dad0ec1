package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// sbomOf returns the bill of materials of the programs in a folder, as CycloneDX: the modules that the linker took, by what the programs
// say themselves.
func sbomOf(version string, c commit, folder string) ([]byte, error) {
	components := map[string]cyclonedx.Component{}
	bill := cyclonedx.NewBOM()
	for _, name := range names {
		info, err := buildinfo.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		bill.Metadata = &cyclonedx.Metadata{
			Timestamp: c.time.Format(time.RFC3339),
			Component: &cyclonedx.Component{
				BOMRef: purl(info.Main.Path, version), Type: cyclonedx.ComponentTypeApplication, Name: info.Main.Path, Version: version,
				PackageURL: purl(info.Main.Path, version), Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: license}}},
			},
		}
		for _, module := range append(info.Deps, &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}) {
			one := componentOf(module)
			components[one.BOMRef] = one
		}
	}
	all := make([]cyclonedx.Component, 0, len(components))
	for _, one := range components {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b cyclonedx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	bill.Components = &all
	var text bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bill)
	return text.Bytes(), err
}

// componentOf returns a module, or what replaces it, with the hash of go.sum.
func componentOf(module *debug.Module) cyclonedx.Component {
	if module.Replace != nil {
		module = module.Replace
	}
	one := cyclonedx.Component{
		BOMRef: purl(module.Path, module.Version), Type: cyclonedx.ComponentTypeLibrary, Name: module.Path, Version: module.Version,
		PackageURL: purl(module.Path, module.Version),
	}
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:")); err == nil && len(sum) > 0 {
		one.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	}
	return one
}

// purl returns the URL of a module, as scanners look it up.
func purl(module, version string) string {
	return "pkg:golang/" + module + "@" + url.QueryEscape(version)
}
