//! Ends that speak different forms of ECN understand each other, and marks cost no form of it data.

use std::cell::{Cell, RefCell};

use aqmlab_tcp::{Ack, Basic, CongestionControl, EcnPolicy, Event, Flags, Full, Marks, Profile};
use aqmlab_units::Duration;
use proptest::prelude::*;

use crate::network::{Bounded, CLIENT, Network, SERVER, marked};
use crate::properties::{UNHARMED, arrives_complete, fates, play_marked, profile, writes};

pub(crate) fn policy() -> impl Strategy<Value = EcnPolicy> {
    prop::sample::select(EcnPolicy::ALL.map(|(_, policy)| policy).to_vec())
}

#[test]
fn endpoints_use_any_common_form_of_ecn_and_react_to_marks() {
    two_ends_heed_marks::<Basic>();
    two_ends_heed_marks::<Full>();
}

fn two_ends_heed_marks<S: Bounded>() {
    for (_, offered) in EcnPolicy::ALL {
        for (_, accepted) in EcnPolicy::ALL {
            let speaking = |ecn| Profile { ecn, initial_window: 4, ..Profile::freebsd_4_5() };
            let seen = RefCell::new([Flags::NONE; 2]);
            let mut network = Network::<_, S>::with_profiles(
                [speaking(offered), speaking(accepted)],
                |from, segment, now| {
                    if segment.len > 0 {
                        seen.borrow_mut()[from] |= segment.flags & (Flags::ECT | Flags::ECT1);
                    }
                    vec![(now + Duration::from_millis(50), marked(segment))]
                },
            );
            while !network.ends[SERVER].events.contains(&Event::Opened)
                || !network.ends[CLIENT].events.contains(&Event::Opened)
            {
                network.step();
            }
            for end in [CLIENT, SERVER] {
                network.write(end, 30_000);
                network.ends[1 - end].tcp.await_data(30_000);
            }
            while network.ends.iter().any(|end| !end.events.contains(&Event::Received)) {
                network.step();
            }
            let negotiated = offered != EcnPolicy::Off && accepted != EcnPolicy::Off;
            let names = format!("{offered} to {accepted}");
            for end in [CLIENT, SERVER] {
                assert_eq!(seen.borrow()[end].contains(Flags::ECT), negotiated, "{names}");
                assert_eq!(network.ends[end].tcp.recovery().ecn_reductions > 0, negotiated, "{names}");
                assert_eq!(network.ends[end].tcp.recovery().timeouts, 0, "{names}");
            }
        }
    }
}

/// A congestion control with a constant window that adds up the marked bytes of its feedback.
#[derive(Debug)]
struct Auditor {
    window: u32,
    marked: u32,
}

impl CongestionControl for Auditor {
    fn new(profile: &Profile) -> Auditor {
        Auditor { window: u32::from(profile.initial_window) * u32::from(profile.mss), marked: 0 }
    }

    fn cwnd(&self) -> u32 {
        self.window
    }

    fn ssthresh(&self) -> u32 {
        self.window
    }

    fn marks(&self) -> Marks {
        Marks::Counted
    }

    fn on_delivery(&mut self, ack: &Ack) {
        self.marked += ack.marked;
    }

    fn on_ack(&mut self, _ack: &Ack) {}
    fn on_ecn_echo(&mut self, _window: u32, _mss: u32) {}
    fn on_fast_retransmit(&mut self, _window: u32, _mss: u32) {}
    fn on_recovered(&mut self, _flight: u32, _mss: u32) {}
    fn on_timeout(&mut self, _window: u32, _mss: u32) {}
    fn on_idle(&mut self, _initial_window: u32) {}
}

proptest! {
    #[test]
    fn both_streams_arrive_complete_between_ends_of_any_two_forms(
        profile in profile(), policies in [policy(), policy()], fallbacks: [bool; 2], options: [bool; 2],
        fates in fates(), writes in writes(), full: bool,
    ) {
        let [client, server] = [0, 1].map(|end| Profile {
            ecn: policies[end],
            ecn_fallback: fallbacks[end],
            accecn_option: full && options[end],
            ..profile.clone()
        });
        if full {
            arrives_complete::<Full>([client, server], fates, &writes);
        } else {
            arrives_complete::<Basic>([client, server], fates, &writes);
        }
    }

    /// RFC 9768 §3.2.3: the counters in the option make up for acknowledgements that are lost, beyond the seven marks that
    /// ACE can tell apart. Where for once an acknowledgement has no option, each mark counts as a full segment until the
    /// next one has.
    #[test]
    fn the_accecn_option_reports_every_marked_byte_if_acks_are_lost(
        profile in profile(), fates in fates(), bytes in 1u32..60_000,
    ) {
        let profile = Profile {
            ecn: EcnPolicy::Accurate,
            accecn_option: true,
            sack: true,
            initial_window: 12,
            min_rto: Duration::from_secs(1),
            ..profile
        };
        let mss = u32::from(profile.mss);
        let mut fates = fates.into_iter();
        let came_marked = Cell::new(0);
        let mut network = Network::<_, Full<Auditor>>::between(profile, |from, segment, now| {
            let fate = fates.next().unwrap_or(UNHARMED);
            let is_data = segment.len > 0;
            let segment = if fate.mark { marked(segment) } else { segment };
            if is_data && segment.flags.contains(Flags::CE) {
                came_marked.set(came_marked.get() + u32::from(segment.len));
            }
            let is_lost = from == SERVER && !segment.flags.contains(Flags::SYN) && fate.copies == 0;
            vec![(now + Duration::from_millis(50), segment); usize::from(!is_lost)]
        });
        while !network.ends[CLIENT].events.contains(&Event::Opened) {
            network.step();
        }
        network.write(CLIENT, bytes);
        while network.ends[CLIENT].tcp.in_flight() > 0 {
            network.step();
        }
        prop_assert_eq!(network.ends[SERVER].tcp.received().get(), 1 + bytes);
        let (heard, marked) = (network.ends[CLIENT].tcp.congestion().marked, came_marked.get());
        prop_assert!((marked..=marked + 7 * mss).contains(&heard), "{heard} of {marked} bytes");
    }

    /// The handshake alone may repeat something, where the forms differ about a marked SYN/ACK.
    #[test]
    fn marks_of_any_form_never_cause_a_retransmission_of_data(
        profile in profile(), ecn in policy(), fates in fates(), writes in writes(),
    ) {
        let profile = Profile { ecn, min_rto: Duration::from_secs(1), ..profile };
        for end in &play_marked(profile, fates, &writes).ends {
            let recovery = end.tcp.recovery();
            prop_assert_eq!((recovery.fast_retransmits, recovery.timeouts), (0, 0));
            prop_assert_eq!(end.sent, u64::from(end.written));
            prop_assert!(ecn == EcnPolicy::TryOnce || recovery.syn_retransmits == 0);
        }
    }
}
