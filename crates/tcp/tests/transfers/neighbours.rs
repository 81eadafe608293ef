//! A host follows its profile, independent of the stacks of other hosts.

use aqmlab_tcp::congestion::Any;
use aqmlab_tcp::{Basic, Full, HeaderOptions, Profile, Scaled, Segment};
use aqmlab_units::{Duration, Time};
use proptest::prelude::*;

use crate::ecn::policy;
use crate::network::{Bounded, Network, marked};
use crate::properties::{Fate, UNHARMED, Write, fates, play, profile, wide_profile, writes};

/// The segments of both ends over a path with these fates, in order: time, end and segment, the bytes
/// of its options in their place.
fn sent<S: Bounded>(
    ends: &[Profile; 2],
    fates: &[Fate],
    writes: &[Write],
) -> Vec<(Time, usize, Segment<u16>)> {
    let mut fates = fates.iter();
    let mut sent = vec![];
    let mut network =
        Network::<_, S>::with_profiles(ends.clone(), |from, segment: Segment<S::Options>, now| {
            let Segment { seq, ack, len, window, flags, options } = segment;
            sent.push((now, from, Segment { seq, ack, len, window, flags, options: options.len() }));
            let fate = fates.next().unwrap_or(&UNHARMED);
            let segment = if fate.mark { marked(segment) } else { segment };
            vec![(now + Duration::from_millis(fate.delay_ms), segment); fate.copies]
        });
    play(&mut network, writes);
    drop(network);
    sent
}

/// A classic client and server: with either end of fast recovery, and every form of ECN without an option.
fn classic(profile: impl Strategy<Value = Profile>) -> impl Strategy<Value = [Profile; 2]> {
    let differences = || (policy(), any::<bool>(), any::<bool>());
    (profile, [differences(), differences()]).prop_map(|(profile, differences)| {
        differences.map(|(ecn, ecn_fallback, newreno)| Profile {
            ecn,
            ecn_fallback,
            newreno,
            ..profile.clone()
        })
    })
}

proptest! {
    #[test]
    fn classic_hosts_send_the_same_segments_on_every_stack(
        ends in classic(profile()), fates in fates(), writes in writes(),
    ) {
        let basic = sent::<Basic>(&ends, &fates, &writes);
        prop_assert_eq!(&sent::<Scaled>(&ends, &fates, &writes), &basic);
        prop_assert_eq!(&sent::<Full<Any>>(&ends, &fates, &writes), &basic);
    }

    #[test]
    fn and_so_they_do_with_wide_windows(ends in classic(wide_profile()), fates in fates(), writes in writes()) {
        let scaled = sent::<Scaled>(&ends, &fates, &writes);
        prop_assert_eq!(sent::<Full<Any>>(&ends, &fates, &writes), scaled);
    }
}
