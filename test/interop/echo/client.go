package echo

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// ClientSettings are the first argument of every client program, as JSON.
type ClientSettings struct {
	Etcd    string `json:"etcd"`
	Service string `json:"service"`
	// Policy is one of the framework's own; empty: its default.
	Policy string `json:"policy"`
	// Rps is the rate of calls; 0: only what is asked for over stdin.
	Rps       int `json:"rps"`
	TimeoutMs int `json:"timeoutMs"`
}

// call is one line on stdout, when the call has ended.
type call struct {
	// At is when it was started, in milliseconds since the epoch.
	At int64 `json:"at"`
	Ms int64 `json:"ms"`
	// Server is the address that answered; empty for a failed call.
	Server string `json:"server"`
	// Code is the gRPC status: OK, Unavailable, ...
	Code  string `json:"code"`
	Error string `json:"error,omitempty"`
}

// Client calls test.Echo over a connection that a framework made.
type Client struct {
	Conn     grpc.ClientConnInterface
	Settings ClientSettings
	// WithKey puts a hash key in a call's context; nil: the framework has no hashing policy.
	WithKey func(context.Context, string) context.Context

	mutex  sync.Mutex
	output *json.Encoder
}

// Run calls at the rate until stdin ends. Over stdin {"do":"rate","rps"} changes the rate, and {"do":"owners","keys":[...]}
// is answered with {"owners":[...]}: for each key the address that answered a call with it.
func (c *Client) Run() {
	c.output = json.NewEncoder(os.Stdout)
	ticker := time.NewTicker(interval(max(c.Settings.Rps, 1)))
	if c.Settings.Rps > 0 {
		go c.callAt(ticker)
	}
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var command struct {
			Do   string
			Rps  int
			Keys []string
		}
		Must(json.Unmarshal(line, &command))
		if command.Do == "rate" {
			ticker.Reset(interval(command.Rps))
			continue
		}
		owners := make([]string, len(command.Keys))
		for i, key := range command.Keys {
			owners[i] = c.once(key).Server
		}
		c.print(map[string]any{"owners": owners})
	}
}

func interval(rps int) time.Duration {
	return time.Second / time.Duration(rps)
}

func (c *Client) callAt(ticker *time.Ticker) {
	for i := 0; ; i++ {
		<-ticker.C
		go func() { c.print(c.once(strconv.Itoa(i % 1000))) }()
	}
}

func (c *Client) once(key string) call {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(c.Settings.TimeoutMs)*time.Millisecond)
	defer cancel()
	if c.WithKey != nil {
		ctx = c.WithKey(ctx, key)
	}
	start := time.Now()
	server, err := say(ctx, c.Conn)
	done := call{At: start.UnixMilli(), Ms: time.Since(start).Milliseconds(), Server: server, Code: status.Code(err).String()}
	if err != nil {
		done.Error = err.Error()
	}
	return done
}

func (c *Client) print(line any) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	Must(c.output.Encode(line))
}
