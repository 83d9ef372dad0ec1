// Package browser tests the page of libretto dev in a headless Chromium. It is a module of its own, so that the program links no driver of
// browsers.
package browser
