# Long flows in ns-2, each with a round-trip time of its own, all from side 0 to side 1. See benches/peers/README.md.
#   ns long.tcl rtts=20,30,40 queue=droptail|red|ared|pi|rem|avq [rate=100e6] [limit=240] [stop=250] [warm=50] [marks=50,250] [window=20000]

set here [file dirname [info script]]
array set P { rtts 40 stagger_s 0.1 rem_mean_packet 1000 }
source $here/dumbbell.tcl
read-settings

set ns [new Simulator -multicast off]
$ns use-scheduler Calendar
ns-random $P(seed)
set-up-tcp
set rtts [split $P(rtts) ,]
build $rtts

for {set i 0} {$i < [llength $rtts]} {incr i} {
    set sender($i) [new Agent/TCP/FullTcp/Newreno]
    set sink [new Agent/TCP/FullTcp/Newreno]
    $ns attach-agent $Client(0,$i) $sender($i)
    $ns attach-agent $Server(1,$i) $sink
    $ns connect $sender($i) $sink
    $sink listen
    set ftp [new Application/FTP]
    $ftp attach-agent $sender($i)
    $ns at [expr $P(stagger_s) * $i] "$ftp start"
}

# What has been acknowledged, in bytes.
proc snap-flows {at} {
    global S sender
    foreach i [array names sender] { set S($at,acked,$i) [$sender($i) set ack_] }
}

proc report-flows {} {
    global S P sender
    puts -nonewline goodput_mbps
    for {set i 0} {$i < [array size sender]} {incr i} {
        set bytes [expr $S(end,acked,$i) - $S(start,acked,$i)]
        puts -nonewline [format " %.4f" [expr $bytes * 8.0 / ($P(stop) - $P(warm)) / 1e6]]
    }
    puts ""
}

$ns at $P(warm) "snap start; snap-flows start"
plan-marks
$ns at $P(stop) "snap end; snap-flows end; report-queues; report-flows; exit 0"
$ns run
