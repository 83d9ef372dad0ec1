// Package api holds the custom resource definitions against a real API server: it must
// take them, must take every manifest of testdata/good and keep what it says, and must
// refuse every one of testdata/bad with a message that helps. It holds tests alone.
//
// A manifest in testdata/bad has comment lines "# want: TEXT", each with a part of the
// API server's message. One in testdata/good may have lines "# stored: PATH: VALUE" and
// "# absent: PATH" about what the API server keeps; in a path, a number counts in a list.
package api
