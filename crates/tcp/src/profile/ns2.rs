//! Hosts of the simulator ns-2.

use aqmlab_units::Duration;

use super::Profile;

impl Profile {
    /// `Agent/TCP/Newreno` of ns-2.1b7 (2000) with its defaults, as in the simulations of its time.
    ///
    /// From `ns-default.tcl` and the dates of its changes: a window of 20 segments, initial window 1 (2 since May
    /// 2001), first timeout 6 s (3 s since January 2006), a clock of 100 ms (10 ms since March 2002), each segment
    /// acknowledged (`Agent/TCPSink`), timeouts doubling up to 64 s. Segments of 1,000 bytes included their
    /// headers (`useHeaders_` false until November 2001), so 960 bytes are data. The minimum timeout of two ticks
    /// is our reading.
    ///
    /// Unlike ns-2's one-way TCP, a connection has a handshake here, with the timeouts of ns-2's `FullTcp`. They
    /// double like those of data (`TcpAgent::rtt_backoff`), up to `maxrto_`, and never end; here an hour ends
    /// them. From a first timeout of 3 s they are 3, 6, 12, 24, 48 and 60 s, as in ns-2.35, whose `maxrto_` is 60
    /// s.
    pub fn ns2_newreno() -> Profile {
        Profile {
            mss: 960,
            receive_window: 20 * 960,
            receive_window_tuning: false,
            initial_window: 1,
            handshake_ack_opens_window: false,
            initial_rto: Duration::from_secs(6),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(64),
            tick: Duration::from_millis(100),
            syn_backoff: vec![1, 2, 4, 8, 16, 20],
            connect_timeout: Duration::from_secs(3600),
            data_backoff: vec![1, 2, 4, 8, 16, 32, 64],
            ack_every: 1,
            ..Profile::freebsd_4_5()
        }
    }

    /// [`Profile::ns2_newreno`] with Reno's fast recovery (`Agent/TCP/Reno`): the first new acknowledgement ends it.
    /// As by default in ns-2 (`bugFix_`), losses of one window start one fast retransmit.
    pub fn ns2_reno() -> Profile {
        Profile { newreno: false, ..Profile::ns2_newreno() }
    }
}
