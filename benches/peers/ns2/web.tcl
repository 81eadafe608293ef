# The web scenario in ns-2: one connection for each line of an arrival trace. See benches/peers/README.md.
#   ns web.tcl trace=FILE queue=droptail|red|ared|pi|rem [out=FILE] [light=1] [stop=60] [warm=20] [marks=15,35]
#     [placement=split|browser]

set here [file dirname [info script]]
array set P { trace "" out "" light 0 pairs 32 rtt_min_ms 10 rtt_max_ms 150 idle_s 1.0 rem_mean_packet 500 }
source $here/dumbbell.tcl
read-settings

set ns [new Simulator -multicast off]
$ns use-scheduler Calendar
ns-random $P(seed)
set-up-tcp
set rtts {}
for {set i 0} {$i < $P(pairs)} {incr i} {
    lappend rtts [expr $P(rtt_min_ms) + ($P(rtt_max_ms) - $P(rtt_min_ms)) * ($i + 0.5) / $P(pairs)]
    foreach d {0 1} { set head($d,$i) 0; set tail($d,$i) 0 }
}
build $rtts

Class Application/Client -superclass Application
Class Application/Server -superclass Application

# All of the request is one segment: answer it, and close.
Application/Server instproc recv bytes {
    global size tcp
    $tcp($self) cmd sendmsg $size($self) MSG_EOF
}

Application/Client instproc recv bytes {
    global left
    if {[incr left($self) -$bytes] <= 0} { complete $self }
}

# light=1: no call into Tcl for each segment. A transfer counts as complete when its client's connection is closed, a
# round trip later. It is the fastest form, for timing; nothing else is taken from such a run.
Agent/TCP/FullTcp/Newreno instproc done {} {
    global client_of under_way
    if {[info exists client_of($self)]} {
        set client $client_of($self)
        if {$under_way($client)} { set under_way($client) 0; complete $client }
    }
}

# Note the response time and put the pair of agents at the end of its line.
proc complete {client} {
    global ns P begun asked out line key tail idle_since
    set now [$ns now]
    if {[info exists out]} {
        puts $out "$begun($client) [format %.6f [expr $now - $begun($client)]] $asked($client)"
    }
    set k $key($client)
    set line($k,$tail($k)) $client
    incr tail($k)
    set idle_since($client) $now
}

proc new-pair {d i} {
    global ns P Client Server tcp server_of key client_of
    set a [new Agent/TCP/FullTcp/Newreno]
    set b [new Agent/TCP/FullTcp/Newreno]
    $ns attach-agent $Client($d,$i) $a
    $ns attach-agent $Server([expr 1 - $d],$i) $b
    $ns connect $a $b
    set client [new Application/Client]
    set server [new Application/Server]
    $server attach-agent $b
    $server start
    if {$P(light)} { set client_of($a) $client } else { $client attach-agent $a; $client start }
    set tcp($client) $a
    set tcp($server) $b
    set server_of($client) $server
    set key($client) $d,$i
    return $client
}

# Making agents is dear: the pair that has been idle longest is used again once its FINs must be over.
proc begin-transfer {d i bytes} {
    global ns P line head tail tcp server_of left size asked begun under_way idle_since
    set k $d,$i
    set now [$ns now]
    set first $head($k)
    if {$first < $tail($k) && $now - $idle_since($line($k,$first)) > $P(idle_s)} {
        set client $line($k,$first)
        unset line($k,$first)
        incr head($k)
        set server $server_of($client)
        $tcp($server) cmd reset
        $tcp($client) cmd listen
    } else {
        set client [new-pair $d $i]
        set server $server_of($client)
    }
    $tcp($server) cmd listen
    set under_way($client) 1
    set left($client) $bytes
    set asked($client) $bytes
    set size($server) $bytes
    set begun($client) $now
    $tcp($client) cmd advance-bytes 300
}

# A line of the trace: t dir pair size.
proc arrive {} {
    global ns trace next
    foreach {t d i bytes} $next {}
    begin-transfer $d $i $bytes
    if {[gets $trace line] >= 0} { set next [split $line]; $ns at [lindex $next 0] arrive }
}

set trace [open $P(trace)]
set next [split [gets $trace]]
$ns at [lindex $next 0] arrive
if {$P(out) != ""} { set out [open $P(out) w] }
$ns at $P(warm) "snap start"
plan-marks
$ns at $P(stop) "snap end; report-queues; exit 0"
$ns run
