# What both ns-2 drivers share: settings, TCP, queue disciplines, the topology and what is counted at the bottleneck.
# benches/peers/README.md says which scenario this is and where each value is from.

# The driver's own settings are in P already; these are common. A word key=value on the command line changes one.
array set P {
    queue droptail limit 240 rate 100e6 delay_ms 1 stop 60 warm 20 marks "" seed 1
    segments_per_ack 2 window 11 placement split
}

proc read-settings {} {
    global argv P
    foreach word $argv {
        foreach {key value} [split $word =] {}
        if {![info exists P($key)]} { puts stderr "ns-2 driver: no setting $key"; exit 2 }
        set P($key) $value
    }
}

# NewReno without SACK and time stamps: segments of 1460 bytes in packets of 1500.
proc set-up-tcp {} {
    global P
    Agent/TCP/FullTcp set segsize_ 1460
    Agent/TCP/FullTcp set segsperack_ $P(segments_per_ack)
    Agent/TCP/FullTcp set interval_ 0.1
    Agent/TCP/FullTcp set nodelay_ true
    Agent/TCP set window_ $P(window)
    Agent/TCP set windowInit_ 2
    Agent/TCP set minrto_ 0.2
    Agent/TCP set rtxcur_init_ 3.0
    Agent/TCP set tcpTick_ 0.01
    Agent/TCP set ecn_ 0
}

# The class of the queue discipline, its parameters set. REM and AVQ (Vq) are at ns-2's defaults, which drop, but for the
# packet that REM counts in.
proc queue-class {} {
    global P
    switch $P(queue) {
        droptail { return DropTail }
        red - ared {
            Queue/RED set bytes_ false
            Queue/RED set queue_in_bytes_ false
            Queue/RED set gentle_ true
            Queue/RED set thresh_ 60
            Queue/RED set maxthresh_ 180
            Queue/RED set q_weight_ [expr 1.0 / 16384]
            Queue/RED set mean_pktsize_ 500
            Queue/RED set linterm_ 10
            Queue/RED set setbit_ false
            if {$P(queue) == "ared"} {
                Queue/RED set adaptive_ 1
                Queue/RED set bottom_ 0.01
            }
            return RED
        }
        pi {
            Queue/PI set bytes_ false
            Queue/PI set queue_in_bytes_ false
            Queue/PI set a_ 1.822e-5
            Queue/PI set b_ 1.816e-5
            Queue/PI set w_ 170
            Queue/PI set qref_ 24
            Queue/PI set setbit_ false
            return PI
        }
        rem {
            Queue/REM set mean_pktsize_ $P(rem_mean_packet)
            return REM
        }
        avq { return Vq }
        default { puts stderr "ns-2 driver: no queue $P(queue)"; exit 2 }
    }
}

# Two routers, R(0) and R(1), and for each round-trip time in milliseconds, at either side, a host that opens connections,
# Client(side,i), and one that answers, Server(side,i). What the bottleneck leaves of a round-trip time is spread evenly
# over the four access links, and the two hosts are one; or, with placement=browser, all of it is on the way from the
# client to its router, as in aqmlab.
proc build {rtts} {
    global ns P R Client Server monitor
    set queue [queue-class]
    set R(0) [$ns node]
    set R(1) [$ns node]
    foreach {from to} {0 1 1 0} {
        $ns simplex-link $R($from) $R($to) $P(rate) $P(delay_ms)ms $queue
        $ns queue-limit $R($from) $R($to) $P(limit)
    }
    set i 0
    foreach rtt $rtts {
        set rest [expr $rtt - 2.0 * $P(delay_ms)]
        foreach side {0 1} {
            switch $P(placement) {
                split {
                    set Client($side,$i) [host $side [expr $rest / 4] [expr $rest / 4]]
                    set Server($side,$i) $Client($side,$i)
                }
                browser {
                    set Client($side,$i) [host $side $rest 0]
                    set Server($side,$i) [host $side 0 0]
                }
                default { puts stderr "ns-2 driver: no placement $P(placement)"; exit 2 }
            }
        }
        incr i
    }
    set monitor(0) [$ns monitor-queue $R(0) $R(1) ""]
    set monitor(1) [$ns monitor-queue $R(1) $R(0) ""]
}

# A host on a link of 1 Gbit/s that never drops, with a delay in milliseconds to its router and one from it.
proc host {side to_ms from_ms} {
    global ns R
    set host [$ns node]
    $ns simplex-link $host $R($side) 1000e6 ${to_ms}ms DropTail
    $ns simplex-link $R($side) $host 1000e6 ${from_ms}ms DropTail
    $ns queue-limit $host $R($side) 100000
    $ns queue-limit $R($side) $host 100000
    return $host
}

# Counters are taken at the start of the window and at its end.
proc snap {at} {
    global ns S monitor
    foreach d {0 1} {
        $monitor($d) instvar parrivals_ pdrops_ bdepartures_
        set packets [[$monitor($d) get-pkts-integrator] set sum_]
        set S($at,$d) [list $parrivals_ $pdrops_ $bdepartures_ $packets]
    }
}

proc report-queues {} {
    global S P
    set seconds [expr double($P(stop) - $P(warm))]
    foreach d {0 1} {
        set change {}
        foreach after $S(end,$d) before $S(start,$d) { lappend change [expr $after - $before] }
        foreach {arrived dropped bytes packets} $change {}
        # The counter of bytes is 32 bits wide.
        if {$bytes < 0} { set bytes [expr $bytes + pow(2, 32)] }
        puts [format "direction %d arrived %.0f dropped %.0f mbps %.4f queue_mean %.4f" \
            $d $arrived $dropped [expr $bytes * 8 / $seconds / 1e6] [expr $packets / $seconds]]
    }
}

# User CPU time of this process, packets that came to the bottleneck so far, peak memory.
proc mark {} {
    global ns monitor
    set file [open /proc/self/stat]
    set ticks [lindex [split [read $file]] 13]
    close $file
    set file [open /proc/self/status]
    regexp {VmHWM:\s+(\d+)} [read $file] whole kib
    close $file
    set packets [expr [$monitor(0) set parrivals_] + [$monitor(1) set parrivals_]]
    puts [format "mark %g user_s %.2f packets %.0f peak_kib %d" [$ns now] [expr $ticks / 100.0] $packets $kib]
}

proc plan-marks {} {
    global ns P
    foreach at [split $P(marks) ,] { $ns at $at mark }
}
