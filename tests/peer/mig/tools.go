//go:build tools

// Package mig pins NVIDIA's mig-parted, which pair builds.
package mig

import _ "github.com/NVIDIA/mig-parted/cmd/nvidia-mig-parted"
