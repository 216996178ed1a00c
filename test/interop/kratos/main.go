// A kratos server and client over a small etcd registrar (registry.go).
//
//	kratos server '{"etcd":"127.0.0.1:2379","service":"greeter"}'
//	kratos client '{"etcd":"127.0.0.1:2379","service":"greeter","rps":200,"timeoutMs":2000}'
package main

import (
	"context"
	"os"
	"time"

	kratos "github.com/go-kratos/kratos/v2"
	"github.com/go-kratos/kratos/v2/log"
	"github.com/go-kratos/kratos/v2/transport/grpc"
	clientv3 "go.etcd.io/etcd/client/v3"
	"lbctl.test/echo"
)

func main() {
	// stdout is for what the tests read.
	log.SetLogger(log.NewFilter(log.NewStdLogger(os.Stderr), log.FilterLevel(log.LevelFatal)))
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
	transport := grpc.NewServer(grpc.Address(server.Address), grpc.Timeout(5*time.Second))
	server.Register(transport)
	app := kratos.New(kratos.Name(settings.Service), kratos.Version("v1"), kratos.Server(transport),
		kratos.Registrar(connect(settings.Etcd)))
	go server.Steer()
	echo.Must(app.Run())
}

func call() {
	var settings echo.ClientSettings
	echo.Parse(&settings)
	conn, err := grpc.DialInsecure(context.Background(),
		grpc.WithEndpoint("discovery:///"+settings.Service),
		grpc.WithDiscovery(connect(settings.Etcd)),
		grpc.WithTimeout(time.Duration(settings.TimeoutMs)*time.Millisecond),
		grpc.WithPrintDiscoveryDebugLog(false))
	echo.Must(err)
	client := echo.Client{Conn: conn, Settings: settings}
	client.Run()
}

func connect(etcd string) *etcdRegistry {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}, DialTimeout: 5 * time.Second})
	echo.Must(err)
	return &etcdRegistry{client: client}
}
