package sandbox

// ownBinary is this program, even if its file has been replaced or removed.
func ownBinary() string { return "/proc/self/exe" }
