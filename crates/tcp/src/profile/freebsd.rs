//! FreeBSD, and the testbed that ran it.

use aqmlab_units::Duration;

use super::{HyStartForm, Profile};
use crate::EcnPolicy;
use crate::congestion::Algorithm;

impl Profile {
    /// FreeBSD 4.5 (January 2002), the hosts of Le, Aikat, Jeffay and Smith, with the 16 kB window they set.
    ///
    /// Timers, back-off tables and windows are those of FreeBSD 4.6 as recorded in the formal TCP model of Bishop
    /// et al. (`TCP1_paramsScript`); initial window and SYN cache from the 4.x sources `tcp_output.c` and
    /// `tcp_syncache.c`. The clock tick is that of HZ = 100. Nagle is off: the papers do not say how their servers
    /// wrote, and a server that writes a response at once with the option `TCP_NODELAY` is our reading.
    pub fn freebsd_4_5() -> Profile {
        Profile {
            mss: 1460,
            receive_window: 16_384,
            receive_window_tuning: false,
            window_scaling: false,
            timestamps: false,
            sack: false,
            rack: false,
            frto: false,
            newreno: true,
            initial_window: 1,
            handshake_ack_opens_window: true,
            initial_rto: Duration::from_secs(3),
            min_rto: Duration::from_secs(1),
            rto_margin: Duration::ZERO,
            max_rto: Duration::from_secs(64),
            tick: Duration::from_millis(10),
            syn_backoff: vec![1, 1, 1, 1, 1, 2, 4, 8, 16, 32, 64],
            connect_timeout: Duration::from_secs(75),
            syn_ack_retransmits: 3,
            data_backoff: vec![1, 2, 4, 8, 16, 32, 64],
            data_retransmits: 12,
            delayed_ack: Duration::from_millis(100),
            ack_every: 2,
            quick_acks: 0,
            quick_acks_after_mark: 0,
            pacing_burst: 1,
            segmentation_offload: false,
            send_buffer: 0,
            min_window: 1,
            restart_after_idle: true,
            nagle: false,
            ecn: EcnPolicy::Off,
            dctcp_two_acks: false,
            ecn_fallback: false,
            accecn_option: false,
            congestion: Algorithm::Reno,
            abe: false,
            ledbat_target: Profile::LEDBAT_TARGET,
            prague_reference_rtt: Profile::PRAGUE_REFERENCE_RTT,
            hystart: HyStartForm::Off,
            quic: None,
        }
    }

    /// [`Profile::freebsd_4_5`] whose receivers acknowledge every segment.
    ///
    /// The papers report a mean frame of "a little over 500 bytes". With an acknowledgement for every second
    /// segment this workload gives about 620 bytes, with one for every segment about 520.
    pub fn unc_testbed() -> Profile {
        Profile { ack_every: 1, ..Profile::freebsd_4_5() }
    }
}
