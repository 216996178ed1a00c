// Only marks this folder as a module: the builds use go-<version>.mod, one for each go-zero they are compiled against.
module lbctl.test/gozero
