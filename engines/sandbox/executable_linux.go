package sandbox

// executable returns the path of this program. It is valid even if the file has been replaced or
// removed.
func executable() string { return "/proc/self/exe" }
