package echo

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/protobuf/types/dynamicpb"
)

// Server answers test.Echo calls, counts them, and is steered over stdin as test/support/grpc-server-process.mjs is.
type Server struct {
	// Address is what it says of itself in every answer: host:port.
	Address string

	mutex     sync.Mutex
	latencyMs int
	// Milliseconds since the epoch at which each call arrived.
	times []int64
}

// Settings are the first argument of every server program, as JSON.
type Settings struct {
	Etcd      string `json:"etcd"`
	Service   string `json:"service"`
	LatencyMs int    `json:"latencyMs"`
}

// NewServer picks a free loopback port.
func NewServer(settings Settings) *Server {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Must(err)
	Must(listener.Close())
	return &Server{Address: listener.Addr().String(), latencyMs: settings.LatencyMs, times: []int64{}}
}

func (s *Server) say(_ context.Context, request any) (any, error) {
	s.mutex.Lock()
	s.times = append(s.times, time.Now().UnixMilli())
	latency := time.Duration(s.latencyMs) * time.Millisecond
	s.mutex.Unlock()
	time.Sleep(latency)
	response := dynamicpb.NewMessage(responseType)
	setText(response, "text", text(request.(*dynamicpb.Message), "text"))
	setText(response, "server", s.Address)
	return response, nil
}

// Steer prints the address, then answers each line on stdin with one on stdout:
// {"do":"behave","latencyMs"} -> {"ok":true}; {"do":"counts","reset"} -> {"calls","times"}. When stdin ends, the test that
// started the program is gone, and it ends too.
func (s *Server) Steer() {
	output := json.NewEncoder(os.Stdout)
	Must(output.Encode(map[string]any{"address": s.Address}))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var command struct {
			Do        string
			LatencyMs int
			Reset     bool
		}
		Must(json.Unmarshal(lines.Bytes(), &command))
		s.mutex.Lock()
		switch command.Do {
		case "behave":
			s.latencyMs = command.LatencyMs
			Must(output.Encode(map[string]any{"ok": true}))
		case "counts":
			Must(output.Encode(map[string]any{"calls": len(s.times), "times": s.times}))
			if command.Reset {
				s.times = []int64{}
			}
		}
		s.mutex.Unlock()
	}
	os.Exit(1)
}

// Parse reads the settings of a program from its last argument.
func Parse(into any) {
	Must(json.Unmarshal([]byte(os.Args[len(os.Args)-1]), into))
}

// Must ends the program: the test that started it shows what it printed.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
