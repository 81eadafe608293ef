//! HTTP/3 of the pages of web users: the share of origins, and the QUIC stacks of the hosts.

use aqmlab_tcp::Profile;
use aqmlab_tcp::quic::HandshakeForm;
use aqmlab_workload::WorkloadConfig;
use aqmlab_workload::pages::PagesConfig;

use super::tcp::UDP_HEADERS;
use super::{MOST_STACKS, Spec, SpecError, UsersSpec, fault};

/// The handshakes of clients, each of which has a stack. A server has the first.
const FORMS: [HandshakeForm; 3] = [HandshakeForm::Full, HandshakeForm::Resumed, HandshakeForm::ZeroRtt];

/// Bytes of UDP payload that every path of QUIC carries (RFC 9000 §14).
const LEAST_DATAGRAM: u64 = 1_200;

impl UsersSpec {
    /// The model of the pages that users load, if they load any.
    pub(crate) fn pages(&self) -> Option<PagesConfig> {
        let WorkloadConfig::Pages(pages) = &self.workload else { return None };
        let mut pages = (**pages).clone();
        if let (Some(share), Some(http3)) = (self.http3, &mut pages.http3) {
            http3.origins.share = share;
        }
        Some(pages)
    }

    /// Keep a share that is written and is not that of the workload.
    pub(super) fn read_http3(
        written: Option<f64>,
        workload: &WorkloadConfig,
    ) -> Result<Option<f64>, SpecError> {
        let Some(share) = written else { return Ok(None) };
        let http3 = match workload {
            WorkloadConfig::Pages(pages) => pages.http3.as_ref(),
            WorkloadConfig::Web(_) => None,
        };
        let Some(http3) = http3 else {
            let message = format!("has no effect: the workload has no HTTP/3, got {share}");
            return Err(fault("users.http3", message));
        };
        Ok(written.filter(|_| written != Some(http3.origins.share)))
    }

    /// The share of origins with HTTP/3 among those with HTTP/2 or HTTP/3.
    fn http3_share(&self) -> f64 {
        match &self.workload {
            WorkloadConfig::Pages(pages) if self.per_side > 0 => {
                pages.http3.as_ref().map_or(0.0, |http3| self.http3.unwrap_or(http3.origins.share))
            }
            _ => 0.0,
        }
    }
}

impl Spec {
    /// True if pages are loaded over HTTP/3.
    pub(crate) fn has_http3(&self) -> bool {
        self.users.http3_share() > 0.0
    }

    /// The stacks of connections of HTTP/3: for each host stack its QUIC with each handshake.
    pub(crate) fn http3_stacks(&self) -> Vec<Profile> {
        if !self.has_http3() {
            return Vec::new();
        }
        let most_data = self.links.mtu().get().saturating_sub(UDP_HEADERS);
        let of_hosts = self.tcp.profiles().map(|profile| {
            let quic = profile.quic_of_host();
            Profile { mss: quic.mss.min(u16::try_from(most_data).unwrap_or(u16::MAX)), ..quic }
        });
        of_hosts.flat_map(|quic| FORMS.map(|form| quic.with_handshake(form))).collect()
    }

    /// Refuse what HTTP/3 cannot work with: many stacks, and small packets.
    pub(super) fn check_http3(&self) -> Result<(), SpecError> {
        if !self.has_http3() {
            return Ok(());
        }
        let entries = self.tcp.mix.len();
        let most = MOST_STACKS / (1 + FORMS.len()) - 1;
        if entries > most {
            let message = format!("must have at most {most} entries with users.http3 above 0, got {entries}");
            return Err(fault("tcp.mix", message));
        }
        let (mtu, least) = (self.links.mtu(), UDP_HEADERS + LEAST_DATAGRAM);
        if mtu.get() < least {
            let message = format!("must be at least {least} B with users.http3 above 0, got {mtu}");
            return Err(fault("link.mtu", message));
        }
        Ok(())
    }
}
