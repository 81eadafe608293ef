//! Linux.

use aqmlab_units::Duration;

use super::{HyStartForm, Profile};
use crate::EcnPolicy;
use crate::congestion::Algorithm;

impl Profile {
    /// Linux 6.5 and later with its defaults (`Documentation/networking/ip-sysctl.rst`, `include/net/tcp.h`).
    ///
    /// SACK with RACK-TLP, timestamps, window scaling, F-RTO (`tcp_frto`); initial window of ten segments (RFC
    /// 6928). Timeouts: 1 s initially, then at least 200 ms above the smoothed round-trip time (`TCP_RTO_MIN`),
    /// at most 120 s. SYNs: four retransmissions a second apart (`tcp_syn_linear_timeouts`, since 6.5), then
    /// doubling, ten in all, given up at 131 s; before 6.5 they doubled from the first. Five SYN/ACK
    /// retransmissions (`tcp_synack_retries`), 15 timeouts of data (`tcp_retries2`). Acknowledgements: the first
    /// 16 segments at once (`TCP_MAX_QUICKACKS`), also after a pause, and while the receive window grows; then every
    /// second one, or after 40 ms (`TCP_DELACK_MIN`).
    ///
    /// Marks: a marked segment while no mark is echoed, and the next segment, are acknowledged at once
    /// (`tcp_enter_quickack_mode` in `__tcp_ecn_check_ce`). So is one with CWR (`tcp_ecn_accept_cwr`), because
    /// the sender's window may be small. Every control leaves two segments (`tcp_reno_ssthresh`,
    /// `cubictcp_recalc_ssthresh`, `dctcp_ssthresh`, and `prague_ssthresh` of the L4S team's tree).
    ///
    /// With DCTCP's feedback, pending segments are acknowledged before a change of marks
    /// (`dctcp_ece_ack_update`).
    ///
    /// CUBIC (`tcp_congestion_control`) with HyStart. Retransmitted SYNs request no ECN (`tcp_ecn_fallback`, 1 in `ip-sysctl.rst` and in `tcp_sk_init` of
    /// `net/ipv4/tcp_ipv4.c`). Accurate ECN, which Linux has since 6.18, includes its option (`tcp_ecn_option`,
    /// 2).
    ///
    /// New data leave in packets of two or more segments, those of a millisecond, which wait for room for a whole one if an
    /// acknowledgement is near (`tcp_tso_autosize`, `tcp_tso_should_defer` of 6.12). A control that paces releases two segments
    /// together (`tcp_min_tso_segs`), which one acknowledgement then covers.
    ///
    /// At most 4 MiB of unacknowledged data with the overhead of their packets (`tcp_wmem`).
    ///
    /// The receive window starts at 65,535 bytes, in whole segments, and grows with the data that arrive
    /// (`tcp_moderate_rcvbuf`) to the maximum of `tcp_rmem`, 32 MiB since 6.16 and 6 MiB before.
    ///
    /// Simpler than Linux:
    /// * Packets of a control that paces do not grow with the rate, and all begin where a departure does and not where the
    ///   application's write did.
    /// * A mark reduces the window at once, not over a round trip (`tcp_cwnd_reduction`). Meanwhile DCTCP's and
    ///   Prague's windows grow by the unmarked bytes.
    /// * Beyond the first limit, the whole receive buffer is window; Linux reserves a part for the packets' overhead, and
    ///   counts data beyond a gap against it.
    /// * The window after an idle period is the initial one, not halved for each timeout that has passed.
    ///
    /// Nagle is off, as for [`Profile::freebsd_4_5`].
    pub fn linux_6() -> Profile {
        Profile {
            mss: 1460,
            receive_window: 33_554_432,
            receive_window_tuning: true,
            window_scaling: true,
            timestamps: true,
            sack: true,
            rack: true,
            frto: true,
            newreno: true,
            initial_window: 10,
            handshake_ack_opens_window: false,
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_millis(200),
            rto_margin: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            tick: Duration::from_micros(1),
            syn_backoff: vec![1, 1, 1, 1, 1, 2, 4, 8, 16, 32, 64],
            connect_timeout: Duration::from_secs(131),
            syn_ack_retransmits: 5,
            data_backoff: vec![1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
            data_retransmits: 15,
            delayed_ack: Duration::from_millis(40),
            ack_every: 2,
            quick_acks: 16,
            quick_acks_after_mark: 2,
            pacing_burst: 2,
            segmentation_offload: true,
            send_buffer: 4_194_304,
            min_window: 2,
            restart_after_idle: true,
            nagle: false,
            ecn: EcnPolicy::Off,
            dctcp_two_acks: true,
            ecn_fallback: true,
            accecn_option: true,
            congestion: Algorithm::Cubic,
            abe: false,
            ledbat_target: Profile::LEDBAT_TARGET,
            prague_reference_rtt: Profile::PRAGUE_REFERENCE_RTT,
            hystart: HyStartForm::Linux,
            quic: None,
        }
    }
}
