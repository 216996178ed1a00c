//go:build !before_1_10

package main

import (
	"cmp"

	"github.com/zeromicro/go-zero/zrpc"
	"lbctl.test/echo"
)

var withKey = zrpc.SetHashKey

func policyOf(settings echo.ClientSettings) string {
	return cmp.Or(settings.Policy, "p2c_ewma")
}
