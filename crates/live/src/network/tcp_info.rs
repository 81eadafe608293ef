//! The state of a connection in the kernel: `TCP_INFO` and `TCP_CC_INFO` of a socket.
//!
//! Source: Linux, `include/uapi/linux/tcp.h` and `inet_diag.h`. A kernel without the last fields leaves zeros there.

use std::io;
use std::os::fd::AsRawFd;

use aqmlab_sim::End;
use aqmlab_tcp::{Algorithm, CongestionState, ControlVariables, Info, LimitedBy, Profile, SenderInfo};
use aqmlab_units::{BitRate, Duration};
use nix::libc;
use socket2::Socket;

/// The bytes of `struct tcp_info` that are read.
const INFO: usize = 232;

/// The bytes of `union tcp_cc_info`.
const CONTROL_INFO: usize = 20;

/// `TCP_INFINITE_SSTHRESH`: no slow-start threshold yet.
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// The state of one end of a connection, as the kernel gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    pub(crate) info: Vec<u8>,
    /// The variables of the congestion control; empty if it gives none.
    pub(crate) control: Vec<u8>,
}

impl TcpInfo {
    /// Reads the state of a socket.
    pub(crate) fn read(socket: &Socket) -> io::Result<TcpInfo> {
        let mut info = vec![0; INFO];
        get_option(socket, libc::TCP_INFO, &mut info)?;
        let mut control = vec![0; CONTROL_INFO];
        let length = get_option(socket, libc::TCP_CC_INFO, &mut control)?;
        control.truncate(length);
        Ok(TcpInfo { info, control })
    }

    /// Data bytes sent, with those sent again.
    pub(crate) fn sent(&self) -> u64 {
        self.long(200)
    }

    /// Data bytes sent again.
    pub(crate) fn retransmitted(&self) -> u64 {
        self.long(208)
    }

    /// Data bytes of this end of the connection that are acknowledged in order or by SACK.
    pub(crate) fn delivered(&self, end: End) -> u64 {
        // The acknowledged numbers begin with the client's SYN and end with FIN, which are no data.
        let syn = u64::from(end == End::Client);
        let acknowledged = self.long(120).saturating_sub(syn).min(self.sent() - self.retransmitted());
        acknowledged + self.bytes(28)
    }

    /// The state in the simulator's terms, of a host with this profile.
    pub(crate) fn info(&self, profile: &Profile) -> Info {
        let counts_marks = profile.congestion == Algorithm::Dctcp;
        let us = |offset| Duration::from_micros(self.word(offset).into());
        let [unacked, sacked, lost, again] = [24, 28, 32, 36].map(|offset| self.word(offset));
        let in_flight = (unacked + again).saturating_sub(sacked + lost) * self.word(16);
        let has_sample = self.word(68) > 0;
        let pacing_rate = BitRate::from_bits_per_sec(self.long(104).saturating_mul(8));
        let sender = SenderInfo {
            state: self.state(),
            in_flight,
            delivered: 0,
            // The kernel tells the segments that are lost now, not those that have been found lost.
            lost: None,
            marked: counts_marks.then(|| self.bytes(196)),
            min_rtt: (self.word(148) < u32::MAX).then(|| us(148)),
            receive_window: self.word(228),
        };
        Info {
            sender,
            sent: 0,
            cwnd: self.word(80) * self.word(16),
            ssthresh: (self.word(76) < NO_THRESHOLD).then(|| self.word(76) * self.word(16)),
            pacing_rate: pacing_rate.filter(|_| is_paced(profile)),
            srtt: has_sample.then(|| us(68)),
            rttvar: us(72),
            rto: us(8),
        }
    }

    /// The variables of BBR and of DCTCP.
    pub(crate) fn variables(&self, profile: &Profile) -> ControlVariables {
        let word = |offset: usize| read_u32(&self.control, offset);
        match profile.congestion {
            Algorithm::Bbr => {
                let bw = f64::from(word(0)) + f64::from(word(4)) * 2_f64.powi(32);
                ControlVariables { bw: Some(bw), max_bw: Some(bw), ..ControlVariables::default() }
            }
            Algorithm::Dctcp => {
                let alpha = Some(f64::from(word(4)) / 1024.0);
                ControlVariables { alpha, ..ControlVariables::default() }
            }
            _ => ControlVariables::default(),
        }
    }

    /// `tcpi_ca_state`; a window that is reduced for a mark (`TCP_CA_CWR`) indicates no loss.
    fn state(&self) -> CongestionState {
        match self.info[1] {
            1 => CongestionState::Disorder,
            3 => CongestionState::Recovery,
            4 => CongestionState::Loss,
            _ => CongestionState::Open,
        }
    }

    /// The reason why it sends no more.
    pub(crate) fn limited_by(&self, profile: &Profile) -> LimitedBy {
        let sender = self.info(profile).sender;
        let next = sender.in_flight + self.word(16);
        let has_data = self.word(144) > 0;
        match sender.state {
            CongestionState::Recovery | CongestionState::Loss => LimitedBy::Recovery,
            _ if !has_data => LimitedBy::Application,
            _ if next > self.word(80) * self.word(16) => LimitedBy::CongestionWindow,
            _ if next > sender.receive_window => LimitedBy::ReceiveWindow,
            _ if is_paced(profile) => LimitedBy::Pacing,
            // Linux waits for an acknowledgement that lets it send a larger packet.
            _ => LimitedBy::CongestionWindow,
        }
    }

    /// The bytes of a number of full segments.
    fn bytes(&self, offset: usize) -> u64 {
        u64::from(self.word(offset)) * u64::from(self.word(16))
    }

    fn word(&self, offset: usize) -> u32 {
        read_u32(&self.info, offset)
    }

    fn long(&self, offset: usize) -> u64 {
        let bytes = self.info[offset..offset + 8].try_into().expect("eight bytes");
        u64::from_ne_bytes(bytes)
    }
}

/// True if the pacing rate that the kernel gives limits departures.
fn is_paced(profile: &Profile) -> bool {
    profile.congestion == Algorithm::Bbr
}

/// Returns a word; 0 where the kernel gives fewer bytes.
fn read_u32(bytes: &[u8], offset: usize) -> u32 {
    let word = bytes.get(offset..offset + 4).and_then(|word| word.try_into().ok());
    word.map_or(0, u32::from_ne_bytes)
}

/// Reads an option of TCP into `bytes`, and returns the length that the kernel has written.
fn get_option(socket: &Socket, name: libc::c_int, bytes: &mut [u8]) -> io::Result<usize> {
    let mut length = libc::socklen_t::try_from(bytes.len()).expect("an option is short");
    #[expect(unsafe_code, reason = "the safe wrappers have a structure that lacks most fields")]
    // The kernel writes at most `length` bytes to `bytes`, which outlives the call.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            name,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(length as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(congestion: Algorithm) -> Profile {
        Profile { congestion, ..Profile::from_name("linux-6").expect("it is shipped") }
    }

    fn state(changes: &[(usize, u64)]) -> TcpInfo {
        let mut info = vec![0; INFO];
        info[16..20].copy_from_slice(&1448_u32.to_ne_bytes());
        for &(offset, value) in changes {
            let long = [104, 120, 200, 208].contains(&offset);
            let bytes = value.to_ne_bytes();
            info[offset..offset + if long { 8 } else { 4 }]
                .copy_from_slice(&bytes[..if long { 8 } else { 4 }]);
        }
        TcpInfo { info, control: Vec::new() }
    }

    #[test]
    fn segments_become_bytes_and_what_is_unknown_none() {
        let found = state(&[
            (24, 10),
            (28, 2),
            (32, 1),
            (36, 1),
            (76, 0x7fff_ffff),
            (80, 20),
            (148, u64::from(u32::MAX)),
        ]);
        let info = found.info(&profile(Algorithm::Cubic));
        assert_eq!((info.sender.in_flight, info.cwnd), (8 * 1448, 20 * 1448));
        assert_eq!(
            (info.ssthresh, info.srtt, info.sender.min_rtt, info.pacing_rate),
            (None, None, None, None)
        );
        let measured =
            state(&[(68, 20_000), (72, 5_000), (76, 7), (104, 1_000_000), (148, 10_000), (196, 3)])
                .info(&profile(Algorithm::Bbr));
        assert_eq!(measured.srtt, Some(Duration::from_millis(20)));
        assert_eq!(measured.sender.min_rtt, Some(Duration::from_millis(10)));
        assert_eq!((measured.ssthresh, measured.sender.marked), (Some(7 * 1448), None));
        assert_eq!(state(&[(196, 3)]).info(&profile(Algorithm::Dctcp)).sender.marked, Some(3 * 1448));
        assert_eq!(measured.pacing_rate, BitRate::from_bits_per_sec(8_000_000));
    }

    #[test]
    fn control_bits_are_no_data_delivered() {
        // A whole transfer of 3000 bytes: SYN and FIN are acknowledged too.
        assert_eq!(state(&[(120, 3002), (200, 4448), (208, 1448)]).delivered(End::Client), 3000);
        assert_eq!(state(&[(28, 2), (120, 1000), (200, 6000)]).delivered(End::Server), 1000 + 2896);
        // Nothing but the SYN is acknowledged yet.
        assert_eq!(state(&[(120, 1), (200, 14_480)]).delivered(End::Client), 0);
    }

    #[test]
    fn the_reason_why_no_more_is_sent_follows_from_windows_and_data() {
        let reason = |changes: &[(usize, u64)]| state(changes).limited_by(&profile(Algorithm::Cubic));
        let has_data = [(144, 5000), (80, 10), (228, 65_535)];
        assert_eq!(reason(&[(80, 10), (228, 65_535)]), LimitedBy::Application);
        assert_eq!(reason(&[&has_data[..], &[(24, 10)]].concat()), LimitedBy::CongestionWindow);
        assert_eq!(reason(&[&has_data[..2], &[(24, 2), (228, 3000)]].concat()), LimitedBy::ReceiveWindow);
    }

    #[test]
    fn a_socket_that_is_not_connected_has_sent_nothing() {
        let socket = Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
        let found = TcpInfo::read(&socket).expect("Linux has it");
        assert_eq!((found.sent(), found.delivered(End::Client)), (0, 0));
    }
}
