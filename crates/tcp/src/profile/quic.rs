//! QUIC.

use aqmlab_units::Duration;

use super::{HyStartForm, Profile};
use crate::EcnPolicy;
use crate::congestion::Algorithm;
use crate::quic::{HandshakeForm, QuicValues};

impl Profile {
    /// QUIC with the values of RFC 9000, 9001 and 9002 and, where they leave a choice, those of browsers and their servers.
    ///
    /// From the standards: a first PTO of 999 ms (RFC 9002 §6.2.2: 333 ms, and four times half of that), a window of ten
    /// datagrams at the start and two at least (§7.2), bursts of the initial window (§7.7), acknowledgements of every
    /// second packet (RFC 9000 §13.2.2) or after 25 ms (§18.2), an idle timeout as long as Chrome's, 30 s.
    ///
    /// `mss` is the UDP payload: 1,452 bytes, up to which quic-go and quinn probe the path (RFC 8899); datagrams of the
    /// handshake have 1,200. Windows are Chrome's: 15 MiB a connection and 6 MiB a stream, not tuned. A client gives up after
    /// 10 s (Chrome's limit for the crypto handshake). CUBIC as in Chrome, here of RFC 9438, with HyStart++ off.
    ///
    /// The certificates have 2,000 bytes, as a chain with ECDSA keys and one intermediate.
    pub fn quic() -> Profile {
        Profile {
            mss: 1452,
            receive_window: 15 << 20,
            receive_window_tuning: false,
            initial_window: 10,
            initial_rto: Duration::from_millis(999),
            tick: Duration::from_micros(1),
            connect_timeout: Duration::from_secs(10),
            delayed_ack: Duration::from_millis(25),
            ack_every: 2,
            pacing_burst: 10,
            segmentation_offload: false,
            send_buffer: 0,
            min_window: 2,
            ecn: EcnPolicy::Off,
            congestion: Algorithm::CubicRfc9438,
            hystart: HyStartForm::Off,
            quic: Some(QuicValues {
                handshake: HandshakeForm::Full,
                certificate: 2_000,
                stream_window: 6 << 20,
                idle_timeout: Duration::from_secs(30),
            }),
            ..Profile::linux_6()
        }
    }

    /// The QUIC stack of a host with this TCP: QUIC's values, with the host's congestion control, and ECN in QUIC's form if
    /// the host uses any.
    #[must_use]
    pub fn quic_of_host(&self) -> Profile {
        let ecn = if self.ecn == EcnPolicy::Off { EcnPolicy::Off } else { EcnPolicy::Rfc3168 };
        Profile {
            ecn,
            congestion: self.congestion.clone(),
            abe: self.abe,
            ledbat_target: self.ledbat_target,
            prague_reference_rtt: self.prague_reference_rtt,
            hystart: self.hystart,
            ..Profile::quic()
        }
    }

    /// The same stack of QUIC with another handshake of clients.
    ///
    /// # Panics
    ///
    /// Panics for a TCP profile.
    #[must_use]
    pub fn with_handshake(&self, handshake: HandshakeForm) -> Profile {
        Profile { quic: Some(QuicValues { handshake, ..self.quic_values().clone() }), ..self.clone() }
    }

    /// The values of QUIC.
    ///
    /// # Panics
    ///
    /// Panics for a TCP profile.
    pub(crate) fn quic_values(&self) -> &QuicValues {
        self.quic.as_ref().expect("the profile is QUIC's")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_its_congestion_control_over_quic_too() {
        let tcp = Profile {
            congestion: Algorithm::Ledbat,
            abe: true,
            ledbat_target: Duration::from_millis(30),
            prague_reference_rtt: Duration::from_millis(40),
            hystart: HyStartForm::PlusPlus,
            ..Profile::freebsd_4_5()
        };
        let quic = tcp.quic_of_host();
        let Profile { congestion, abe, ledbat_target, prague_reference_rtt, hystart, .. } = tcp;
        let expected = Profile {
            congestion,
            abe,
            ledbat_target,
            prague_reference_rtt,
            hystart,
            ecn: EcnPolicy::Off,
            ..Profile::quic()
        };
        assert_eq!(quic, expected);
    }

    #[test]
    fn a_host_that_uses_ecn_has_it_in_the_form_of_quic() {
        for (host, expected) in [
            (EcnPolicy::Off, EcnPolicy::Off),
            (EcnPolicy::Rfc3168, EcnPolicy::Rfc3168),
            (EcnPolicy::PlusWait, EcnPolicy::Rfc3168),
            (EcnPolicy::Accurate, EcnPolicy::Rfc3168),
        ] {
            assert_eq!(Profile { ecn: host, ..Profile::linux_6() }.quic_of_host().ecn, expected);
        }
    }
}
