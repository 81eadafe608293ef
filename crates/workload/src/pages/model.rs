//! The tables, ready for drawing, and the start of users.

use aqmlab_units::{Duration, Stream};

use super::browser::Browser;
use super::config::{Http3RequestsConfig, KindConfig, PagesConfig, RequestsConfig, SizesConfig, TlsConfig};
use super::page::Version;
use crate::config::{ConfigError, RttConfig};
use crate::quantile::Quantile;
use crate::sampler::Sampler;
use crate::sources::draws::variates::{exponential, normal};
use crate::web::Rtt;

/// The model of a population that browses pages of today: immutable, shared by all of them.
#[derive(Clone, Debug)]
pub struct Pages {
    /// The key of the family of streams, one for each user.
    users: u64,
    /// In the order of [`super::page::Kind::ALL`].
    pub(crate) kinds: Vec<KindTables>,
    pub(crate) numbers: Correlation,
    pub(crate) bytes: Correlation,
    pub(crate) scripts_by_scripts: f64,
    pub(crate) blocking_scripts: f64,
    pub(crate) images_by_css: f64,
    pub(crate) images_by_scripts: f64,
    pub(crate) other_origins: f64,
    pub(crate) origins_per_page: Sampler,
    pub(crate) http1_own_origin: f64,
    pub(crate) http1_other_origins: f64,
    pub(crate) http3_origins: f64,
    pub(crate) resumed_connections: f64,
    pub(crate) requests: RequestsConfig,
    pub(crate) http3_requests: Http3RequestsConfig,
    pub(crate) tls: TlsConfig,
    pub(crate) rtt: Rtt,
    think_seconds: f64,
    page_seconds: f64,
}

/// The tables of one kind of resource.
#[derive(Clone, Debug)]
pub(crate) struct KindTables {
    pub(crate) per_page: Sampler,
    pub(crate) sizes: Sizes,
}

/// Sizes in kilobytes.
#[derive(Clone, Debug)]
pub(crate) enum Sizes {
    PerPage { table: Sampler, weights_sigma: f64 },
    PerResource(Sampler),
}

/// A correlation of two scores, which are standard normal (a Gaussian copula).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Correlation {
    shared: f64,
    own: f64,
}

impl Correlation {
    fn new(share: f64) -> Correlation {
        Correlation { shared: share, own: libm::sqrt(1.0 - share * share) }
    }

    /// Draw the score that is correlated with `other`.
    pub(crate) fn score(self, other: f64, stream: &mut Stream) -> f64 {
        self.shared * other + self.own * normal(stream)
    }
}

impl Pages {
    /// The model for the tables of `config` and `rtt`, in the run `seed`.
    pub fn new(config: &PagesConfig, rtt: &RttConfig, seed: u64) -> Result<Pages, ConfigError> {
        config.check()?;
        rtt.check()?;
        Ok(Pages {
            users: Stream::key(seed, "pages/user"),
            kinds: config.resources.by_name().map(|(_, kind)| KindTables::new(kind)).into(),
            numbers: Correlation::new(config.number_correlation.share),
            bytes: Correlation::new(config.bytes_correlation.share),
            scripts_by_scripts: config.scripts_by_scripts.share,
            blocking_scripts: config.blocking_scripts.share,
            images_by_css: config.images_by_css.share,
            images_by_scripts: config.images_by_scripts.share,
            other_origins: config.other_origins.share,
            origins_per_page: sampler(&config.origins_per_page.nodes),
            http1_own_origin: config.http1_own_origin.share,
            http1_other_origins: config.http1_other_origins.share,
            http3_origins: config.http3.as_ref().map_or(0.0, |http3| http3.origins.share),
            resumed_connections: config.resumed_connections.share,
            requests: config.requests.clone(),
            http3_requests: config.http3.as_ref().map(|http3| http3.requests.clone()).unwrap_or_default(),
            tls: config.tls.clone(),
            rtt: Rtt::new(&rtt.distribution),
            think_seconds: config.think_seconds.mean,
            page_seconds: config.page_seconds.mean,
        })
    }

    /// User `number` of the population, and when it first wakes.
    ///
    /// Users start in equilibrium: an exponential think time is under way, or a page that takes `page_seconds` and then a
    /// whole think time.
    pub fn user(&self, number: u32) -> (Browser, Duration) {
        let mut stream = Stream::numbered(self.users, u64::from(number));
        let key = stream.next_u64();
        let (is_thinking, rest) = (stream.uniform(), stream.uniform());
        let think = self.think_seconds * exponential(&mut stream);
        let cycle = self.think_seconds + self.page_seconds;
        let page = if is_thinking * cycle < self.think_seconds { 0.0 } else { rest * self.page_seconds };
        (Browser::new(key), Duration::from_secs_f64(page + think))
    }

    /// Bytes of requests: of the first one of a connection, and of later ones.
    pub(crate) fn request_sizes(&self, version: Version) -> [u32; 2] {
        let requests = &self.requests;
        match version {
            Version::Http1 => [requests.http1; 2],
            Version::Http2 => [requests.http2_first, requests.http2_later],
            Version::Http3 => [self.http3_requests.first, self.http3_requests.later],
        }
    }

    /// Time from the end of a page to the start of the next.
    pub(crate) fn think(&self, stream: &mut Stream) -> Duration {
        Duration::from_secs_f64(self.think_seconds * exponential(stream))
    }
}

impl KindTables {
    fn new(config: &KindConfig) -> KindTables {
        let sizes = match &config.kilobytes {
            SizesConfig::PerPage { nodes, weights_sigma, .. } => {
                Sizes::PerPage { table: sampler(nodes), weights_sigma: *weights_sigma }
            }
            SizesConfig::PerResource(table) => Sizes::PerResource(sampler(&table.nodes)),
        };
        KindTables { per_page: sampler(&config.per_page.nodes), sizes }
    }
}

fn sampler(nodes: &[[f64; 2]]) -> Sampler {
    Sampler::new(Quantile::new(nodes))
}
