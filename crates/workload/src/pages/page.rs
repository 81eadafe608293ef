//! A page: its resources, their dependencies, and the origins that serve them.

use aqmlab_units::{Duration, Stream};

use super::model::{Pages, Sizes};
use crate::sources::draws::variates::{normal, normal_below};

/// The number of a resource on its page; the document is the first.
pub(crate) type ResourceId = u16;

/// The document.
pub(crate) const DOCUMENT: ResourceId = 0;

/// A kind of resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The document, and documents in frames.
    Html,
    /// A style sheet.
    Css,
    /// A script.
    Script,
    /// A font.
    Font,
    /// An image.
    Image,
    /// Calls, beacons, and all others.
    Other,
}

impl Kind {
    /// In the order of the tables.
    pub(crate) const ALL: [Kind; 6] =
        [Kind::Html, Kind::Css, Kind::Script, Kind::Font, Kind::Image, Kind::Other];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Html => "HTML",
            Kind::Css => "CSS",
            Kind::Script => "script",
            Kind::Font => "font",
            Kind::Image => "image",
            Kind::Other => "other",
        }
    }
}

/// A resource of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Resource {
    pub(crate) kind: Kind,
    /// Bytes of its response.
    pub(crate) size: u32,
    /// The number of its origin on the page; that of the page is the first.
    pub(crate) origin: u16,
    /// The resource that refers to it; that of the document is the document.
    pub(crate) parent: ResourceId,
    /// Nothing is shown before it is there.
    pub(crate) blocking: bool,
    /// The next resource with the same parent.
    pub(crate) sibling: Option<ResourceId>,
    /// The first resource that it refers to.
    pub(crate) child: Option<ResourceId>,
}

impl Resource {
    /// The priority that a browser gives it. The values are those that Chrome derives from the kind of a request.
    pub(crate) fn priority(&self, id: ResourceId) -> Priority {
        let urgency = match self.kind {
            Kind::Html if id == DOCUMENT => 0,
            Kind::Css | Kind::Font => 0,
            Kind::Script if self.blocking => 1,
            Kind::Other => 1,
            Kind::Html | Kind::Script | Kind::Image => 3,
        };
        Priority { urgency, incremental: matches!(self.kind, Kind::Html | Kind::Image | Kind::Other) }
    }

    /// Its request has no effect on the server (RFC 9110, section 9.2.1), so that it may be sent as 0-RTT data, which others
    /// can repeat (RFC 8470). Calls and beacons have one.
    pub(crate) fn is_safe(&self) -> bool {
        self.kind != Kind::Other
    }
}

/// The priority of a response (RFC 9218).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// The lower the more urgent.
    pub urgency: u8,
    /// Parts of it are useful before all of it is there: a server sends it in turns with others.
    pub incremental: bool,
}

/// A server of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Origin {
    pub(crate) version: Version,
    /// The minimum round-trip time to it.
    pub(crate) min_rtt: Duration,
}

/// The version of HTTP that an origin speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.1: one request at a time on a connection, on up to six connections.
    Http1,
    /// HTTP/2: all requests on one connection.
    Http2,
    /// HTTP/3: all requests on one connection of QUIC, each on a stream.
    Http3,
}

impl Version {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Version::Http1 => "HTTP/1.1",
            Version::Http2 => "HTTP/2",
            Version::Http3 => "HTTP/3",
        }
    }
}

/// A page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Page {
    /// Each comes after its parent.
    pub(crate) resources: Vec<Resource>,
    pub(crate) origins: Vec<Origin>,
}

impl Page {
    /// Draw the page of `stream`. Each origin draws from a stream of its own, which `origin_stream` gives.
    pub(crate) fn draw(pages: &Pages, stream: &mut Stream, origin_stream: impl Fn(u16) -> Stream) -> Page {
        let page_size = normal(stream);
        let sizes: Vec<Vec<u32>> =
            Kind::ALL.map(|kind| draw_sizes(pages, kind, page_size, stream)).into_iter().collect();
        let origins_score = pages.numbers.score(page_size, stream);
        let others = whole(pages.origins_per_page.value(normal_below(origins_score)));
        let mut page = Page { resources: Vec::new(), origins: Vec::new() };
        for (kind, sizes) in Kind::ALL.into_iter().zip(sizes) {
            for size in sizes {
                page.add(pages, kind, size, others, stream);
            }
        }
        page.link();
        page.origins = (0..=others).map(|number| draw_origin(pages, number, origin_stream(number))).collect();
        page
    }

    /// Add a resource of `kind`.
    fn add(&mut self, pages: &Pages, kind: Kind, size: u32, others: u16, stream: &mut Stream) {
        let is_document = self.resources.is_empty();
        // Always as many draws, so that a change of one share moves no other draw.
        let (by_whom, which, blocks) = (stream.uniform(), stream.uniform(), stream.uniform());
        let (elsewhere, which_origin) = (stream.uniform(), stream.uniform());
        let parent = match kind {
            _ if is_document => DOCUMENT,
            Kind::Script if by_whom < pages.scripts_by_scripts => self.pick(Kind::Script, which),
            Kind::Font => self.pick(Kind::Css, which),
            Kind::Image if by_whom < pages.images_by_css => self.pick(Kind::Css, which),
            Kind::Image if by_whom < pages.images_by_css + pages.images_by_scripts => {
                self.pick(Kind::Script, which)
            }
            Kind::Css | Kind::Script | Kind::Image => DOCUMENT,
            Kind::Html | Kind::Other => self.pick(Kind::Script, which),
        };
        let blocking = parent == DOCUMENT
            && match kind {
                Kind::Html => is_document,
                Kind::Css => true,
                Kind::Script => blocks < pages.blocking_scripts,
                Kind::Font | Kind::Image | Kind::Other => false,
            };
        let is_elsewhere = !is_document && others > 0 && elsewhere < pages.other_origins;
        let origin = if is_elsewhere { 1 + whole(which_origin * f64::from(others)) } else { 0 };
        self.resources.push(Resource { kind, size, origin, parent, blocking, sibling: None, child: None });
    }

    /// One of the resources of `kind` so far, or else the document.
    fn pick(&self, kind: Kind, which: f64) -> ResourceId {
        let count = self.resources.iter().filter(|resource| resource.kind == kind).count();
        let nth = usize::from(whole(which * count as f64));
        let mut of_kind = (0..).zip(&self.resources).filter(|(_, resource)| resource.kind == kind);
        of_kind.nth(nth).map_or(DOCUMENT, |(id, _)| id)
    }

    /// Link each resource with those that it refers to, in their order.
    fn link(&mut self) {
        for id in (1..self.resources.len()).rev() {
            let parent = usize::from(self.resources[id].parent);
            self.resources[id].sibling = self.resources[parent].child;
            self.resources[parent].child = Some(u16::try_from(id).expect("the ranges bound the resources"));
        }
    }
}

/// The sizes of all resources of `kind` on a page.
fn draw_sizes(pages: &Pages, kind: Kind, page_size: f64, stream: &mut Stream) -> Vec<u32> {
    let table = &pages.kinds[kind as usize];
    let number_score = pages.numbers.score(page_size, stream);
    let bytes_score = pages.bytes.score(number_score, stream);
    let is_html = kind == Kind::Html;
    let number = whole(table.per_page.value(normal_below(number_score))).max(u16::from(is_html));
    let mut sizes: Vec<u32> = match &table.sizes {
        Sizes::PerPage { table, weights_sigma } => {
            let all = table.value(normal_below(bytes_score));
            let weights: Vec<f64> = (0..number).map(|_| libm::exp(weights_sigma * normal(stream))).collect();
            let sum: f64 = weights.iter().sum();
            weights.iter().map(|weight| in_bytes(all * weight / sum)).collect()
        }
        Sizes::PerResource(table) => (0..number).map(|_| in_bytes(table.draw(stream))).collect(),
    };
    if is_html {
        // The document is the largest of a page's HTML.
        let largest = (0..sizes.len()).max_by_key(|&place| sizes[place]).expect("at least the document");
        sizes.swap(0, largest);
    }
    sizes
}

fn draw_origin(pages: &Pages, number: u16, mut stream: Stream) -> Origin {
    let http1 = if number == 0 { pages.http1_own_origin } else { pages.http1_other_origins };
    let draw = stream.uniform();
    // A share of those that do not speak HTTP/1.1, the last ones: another share moves no draw.
    let version = if draw < http1 {
        Version::Http1
    } else if 1.0 - draw <= (1.0 - http1) * pages.http3_origins {
        Version::Http3
    } else {
        Version::Http2
    };
    Origin { version, min_rtt: pages.rtt.draw(&mut stream) }
}

/// The whole number at or below `value`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked tables end at 1,000")]
fn whole(value: f64) -> u16 {
    value as u16
}

/// Kilobytes as bytes, at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked tables end at 300,000 KB"
)]
fn in_bytes(kilobytes: f64) -> u32 {
    ((1024.0 * kilobytes + 0.5) as u32).max(1)
}
