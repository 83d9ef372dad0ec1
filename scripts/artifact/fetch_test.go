package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/scripts/bundle"
)

// archived returns an archive with those entries: those whose names end with an arrow are links.
func archived(tb testing.TB, entries ...string) []byte {
	tb.Helper()
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	archive := tar.NewWriter(compressed)
	for i := 0; i < len(entries); i += 2 {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: entries[i], Size: int64(len(entries[i+1])), Mode: 0o600}
		if link, isLink := strings.CutSuffix(entries[i], " ->"); isLink {
			header = &tar.Header{Typeflag: tar.TypeSymlink, Name: link, Linkname: entries[i+1]}
		}
		err := archive.WriteHeader(header)
		if err == nil && header.Size > 0 {
			_, err = archive.Write([]byte(entries[i+1]))
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func digestOf(packed []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(packed)) }

// TestFetch takes the files of an artifact, or says why not.
func TestFetch(t *testing.T) {
	good := archived(t, "README.md", "r", "hooks/sync.js", "s", "./hooks/lib/a.js", "a", "hooks/.git/config", "x", "hooks/old.js~", "x", "hook", "x",
		"hooks/.link ->", "/etc/passwd", "other/link ->", "/etc/passwd")
	var large strings.Builder
	for n := range 200_000 {
		fmt.Fprintf(&large, "%x", sha256.Sum256(fmt.Append(nil, n)))
	}
	paths := map[string][]byte{
		"/good": good, "/up": archived(t, "../sync.js", "s"), "/up-below": archived(t, "hooks/../../sync.js", "s"),
		"/absolute": archived(t, "/sync.js", "s"), "/link": archived(t, "hooks/sync.js ->", "../other"),
		"/twice": archived(t, "hooks/a.js", "1", "./hooks/a.js", "2"), "/bomb": archived(t, "hooks/zeros", strings.Repeat("0", bundle.MaxBytes+1)),
		"/bomb-beside": archived(t, "a", strings.Repeat("0", 60<<20), "hooks/sync.js", "s"),
		"/large":       bytes.Repeat([]byte{0}, maxPacked+1), "/no-archive": []byte("no archive"),
		"/incompressible": archived(t, "a", large.String(), "hooks/sync.js", "s"),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch packed, there := paths[r.URL.Path]; {
		case there:
			_, _ = w.Write(packed)
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/good", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for name, tc := range map[string]struct {
		reason       string
		url, digest  string // The digest is that of the archive by default.
		folder       string
		want         map[string]string
		err          string
		isPermanent  bool
		mustNotQuote string
	}{
		"folder":                 {reason: "Files below the folder, without what directories leave out.", url: "/good", folder: "hooks", want: map[string]string{"sync.js": "s", "lib/a.js": "a"}},
		"folder with a slash":    {reason: "A path may end with a slash.", url: "/good", folder: "hooks/lib/", want: map[string]string{"a.js": "a"}},
		"all, with a link":       {reason: "A link among what is taken is an error, as in a bundle.", url: "/good", err: `"other/link" is no regular file`, isPermanent: true},
		"no such folder":         {reason: "It may be misspelled.", url: "/good", folder: "hoks", err: `has no file below "hoks": correct path`, isPermanent: true},
		"leaves the folder":      {reason: "Nothing is taken from outside.", url: "/up", err: `"../sync.js" is no path of a file`, isPermanent: true},
		"leaves it from below":   {reason: "Nor by way of the folder.", url: "/up-below", folder: "hooks", err: `"../../sync.js" is no path of a file`, isPermanent: true},
		"absolute":               {reason: "Paths are relative.", url: "/absolute", err: `"/sync.js" is no path of a file`, isPermanent: true},
		"link":                   {reason: "Links are refused.", url: "/link", folder: "hooks", err: "is no regular file", isPermanent: true},
		"twice":                  {reason: "Which one counts would be a guess.", url: "/twice", folder: "hooks", err: "is there twice", isPermanent: true},
		"bomb":                   {reason: "Files have limits.", url: "/bomb", folder: "hooks", err: "more than 16 MiB together", isPermanent: true},
		"bomb beside the folder": {reason: "What is left out is expanded, too.", url: "/bomb-beside", folder: "hooks", err: "when it is expanded", isPermanent: true},
		"large":                  {reason: "The archive has a limit.", url: "/large", err: "has more than 16 MiB: leave out", isPermanent: true},
		"within the limit":       {reason: "A repository may be larger than what is used of it.", url: "/incompressible", folder: "hooks", want: map[string]string{"sync.js": "s"}},
		"no archive":             {reason: "It must be an archive.", url: "/no-archive", err: "can't be unpacked", isPermanent: true},
		"other digest": {
			reason: "The digest decides, and is tried again. What it really is tells about what others may fetch.", url: "/good",
			digest: digestOf([]byte("x")), err: "has not the digest " + digestOf([]byte("x")), mustNotQuote: strings.TrimPrefix(digestOf(good), "sha256:"),
		},
		"other algorithm": {reason: "Only SHA-256 is known.", url: "/good", digest: "sha1:1234", err: "must be sha256", isPermanent: true},
		"not found":       {reason: "It may come.", url: "/none", err: "can't be fetched: status 404 Not Found"},
		"redirect":        {reason: "No redirect is followed.", url: "/moved", err: "status 302 Found"},
		"other host":      {reason: "The host is not named by the flag.", url: "http://169.254.169.254/x", err: "--flux-artifact-hosts does not name", isPermanent: true},
		"other port":      {reason: "A port is part of the host.", url: "http://127.0.0.1:1/x", err: "--flux-artifact-hosts does not name", isPermanent: true},
		"user":            {reason: "A user would hide the host.", url: "http://" + host + "@evil/x", err: "without a user", isPermanent: true},
		"scheme":          {reason: "Files of the host are not artifacts.", url: "file:///etc/passwd", err: "must be an http or https URL", isPermanent: true},
		"signed": {
			reason: "A query may hold a signature.", url: "/none?signature=secret", err: "status 404", mustNotQuote: "secret",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := Artifact{URL: tc.url, Digest: tc.digest}
			if strings.HasPrefix(tc.url, "/") {
				a.URL = server.URL + tc.url
			}
			if u, err := url.Parse(a.URL); err == nil && a.Digest == "" {
				a.Digest = digestOf(paths[u.Path])
			}
			got, err := NewFetcher([]string{host}, nil).fetch(t.Context(), a, tc.folder)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%s: got %v, want %q", tc.reason, err, tc.err)
			}
			if tc.mustNotQuote != "" && strings.Contains(err.Error(), tc.mustNotQuote) {
				t.Errorf("%s: it says %v", tc.reason, err)
			}
			if _, got := err.(permanentError); got != tc.isPermanent {
				t.Errorf("%s: permanent is %v: %v", tc.reason, got, err)
			}
		})
	}
}

// TestHosts compares hosts as they are meant.
func TestHosts(t *testing.T) {
	f := NewFetcher(append([]string{"Other.example:8080", "[::1]:80"}, DefaultHosts...), nil)
	for address, want := range map[string]bool{
		"http://source-controller.flux-system.svc.cluster.local./a.tar.gz":     true,
		"http://SOURCE-controller.flux-system.svc.cluster.local/a.tar.gz":      true,
		"http://source-controller.flux-system.svc.cluster.local.:9090/a":       false,
		"http://source-controller.flux-system.svc.cluster.local.evil.example/": false,
		"http://source-controller.flux-system/a":                               false,
		"https://other.example:8080/a":                                         true,
		"http://[::1]:80/a":                                                    true,
		"http://other.example/a":                                               false,
	} {
		if _, err := f.check(Artifact{URL: address, Digest: digestOf(nil)}); (err == nil) != want {
			t.Errorf("%s: %v, want it allowed: %v", address, err, want)
		}
	}
	for host, want := range map[string]bool{"a.example": true, "a.example:80": true, "http://a": false, "a/b": false, "u@a": false, "": false, ":80": false} {
		if err := CheckHost(host); (err == nil) != want {
			t.Errorf("%q: %v, want it to be a host: %v", host, err, want)
		}
	}
}

// TestHold bounds what the artifacts of one namespace take together.
func TestHold(t *testing.T) {
	f := NewFetcher(nil, nil)
	for _, step := range []struct {
		namespace string
		more      int
		want      bool
	}{
		{"a", maxHeld, true}, {"a", 1, false}, {"b", 1, true}, {"a", -1, true}, {"a", 1, true}, {"a", -maxHeld, true}, {"b", -1, true},
	} {
		if err := f.hold(step.namespace, step.more); (err == nil) != step.want {
			t.Errorf("%d of %s: %v, want it held: %v", step.more, step.namespace, err, step.want)
		}
	}
	if len(f.held) != 0 {
		t.Errorf("%v is held after all is released", f.held)
	}
}
