//go:build before_1_10

package main

import (
	"context"

	"lbctl.test/echo"
)

// zrpc knows p2c_ewma only, and its configuration has no name for it.
var withKey func(context.Context, string) context.Context

func policyOf(settings echo.ClientSettings) string {
	if settings.Policy != "" && settings.Policy != "p2c_ewma" {
		panic("before v1.10 zrpc has no policy " + settings.Policy)
	}
	return ""
}
