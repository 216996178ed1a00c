// A zrpc server and client, compiled against several versions of go-zero from this one source (go-<version>.mod).
//
//	gozero server '{"etcd":"127.0.0.1:2379","service":"greet.rpc"}'
//	gozero client '{"etcd":"127.0.0.1:2379","service":"greet.rpc","policy":"p2c_ewma","rps":200,"timeoutMs":2000}'
package main

import (
	"fmt"
	"os"

	"github.com/zeromicro/go-zero/core/conf"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/zrpc"
	"google.golang.org/grpc"
	"lbctl.test/echo"
)

func main() {
	switch os.Args[1] {
	case "server":
		serve()
	case "client":
		call()
	}
}

func serve() {
	var settings echo.Settings
	echo.Parse(&settings)
	server := echo.NewServer(settings)
	var config zrpc.RpcServerConf
	// Shedding by CPU is off: a busy test machine would make the server refuse calls.
	load(&config, `{"Name":"greeter","Log":{"Mode":"console","Level":"severe","Stat":false},"ListenOn":%q,
		"CpuThreshold":0,"Etcd":{"Hosts":[%q],"Key":%q}}`, server.Address, settings.Etcd, settings.Service)
	zserver := zrpc.MustNewServer(config, func(registrar *grpc.Server) { server.Register(registrar) })
	go server.Steer()
	zserver.Start()
}

func call() {
	var settings echo.ClientSettings
	echo.Parse(&settings)
	logx.Disable()
	var config zrpc.RpcClientConf
	load(&config, `{"Etcd":{"Hosts":[%q],"Key":%q},"Timeout":%d,"BalancerName":%q}`,
		settings.Etcd, settings.Service, settings.TimeoutMs, policyOf(settings))
	client := echo.Client{Conn: zrpc.MustNewClient(config).Conn(), Settings: settings, WithKey: withKey}
	client.Run()
}

func load(config any, format string, values ...any) {
	echo.Must(conf.LoadFromJsonBytes(fmt.Appendf(nil, format, values...), config))
}
