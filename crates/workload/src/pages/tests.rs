//! Pages and browsers on a network that does things in random order.

use std::collections::BTreeMap;

use aqmlab_units::{Duration, Stream, Time};

use super::browser::MOST_CONNECTIONS;
use super::page::{DOCUMENT, Kind, Origin, Page, Version};
use super::*;
use crate::{Completed, ConnectionId, RttConfig, WorkloadConfig};

fn shipped() -> PagesConfig {
    PagesConfig::shipped("web-2024").expect("shipped")
}

fn model(config: &PagesConfig) -> Pages {
    Pages::new(config, &RttConfig::shipped("uniform").expect("shipped"), 1).expect("valid")
}

/// Page `number` of one user.
fn page(pages: &Pages, number: u64) -> Page {
    Page::draw(pages, &mut Stream::numbered(7, number), |origin| {
        Stream::numbered(8, number << 16 | u64::from(origin))
    })
}

fn percentiles(values: impl Iterator<Item = f64>) -> [f64; 5] {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    [10, 25, 50, 75, 90].map(|percent| values[values.len() * percent / 100])
}

/// The published percentiles, and the largest relative difference of those generated.
fn check(what: &str, generated: [f64; 5], published: [f64; 5], tolerance: f64) {
    println!("{what}: {generated:.1?} for {published:?}");
    for (value, wanted) in generated.into_iter().zip(published) {
        assert!(
            (value - wanted).abs() <= tolerance * wanted + 1e-9,
            "{what}: {generated:?} for {published:?}"
        );
    }
}

/// The requests of a page over a version of HTTP.
fn requests_over(page: &Page, version: Version) -> f64 {
    let its = |origin: u16| page.origins[usize::from(origin)].version;
    page.resources.iter().filter(|one| its(one.origin) == version).count() as f64
}

#[test]
fn generated_percentiles_are_the_published_ones() {
    let model = model(&shipped());
    let pages: Vec<Page> = (0..20_000).map(|number| page(&model, number)).collect();
    let count =
        |kind: Kind| move |page: &Page| page.resources.iter().filter(|one| one.kind == kind).count() as f64;
    let kilobytes = |kind: Kind| {
        let size = move |page: &Page| {
            page.resources.iter().filter(|one| one.kind == kind).map(|one| f64::from(one.size) / 1024.0).sum()
        };
        percentiles(pages.iter().map(size))
    };
    let counts = |kind: Kind| percentiles(pages.iter().map(count(kind)));
    // Fitted by construction. A number of requests is whole, so that a percentile may be one off.
    check("HTML requests", counts(Kind::Html), [1.0, 1.0, 2.0, 6.0, 12.0], 0.09);
    check("CSS requests", counts(Kind::Css), [2.0, 4.0, 8.0, 16.0, 26.0], 0.05);
    check("scripts", counts(Kind::Script), [5.0, 12.0, 24.0, 43.0, 70.0], 0.05);
    check("fonts", counts(Kind::Font), [0.0, 2.0, 4.0, 7.0, 11.0], 0.1);
    check("images", counts(Kind::Image), [5.0, 9.0, 18.0, 33.0, 60.0], 0.05);
    check("KB of HTML", kilobytes(Kind::Html), [6.0, 14.0, 35.0, 78.0, 152.0], 0.1);
    check("KB of CSS", kilobytes(Kind::Css), [10.0, 36.0, 80.0, 152.0, 269.0], 0.1);
    check("KB of scripts", kilobytes(Kind::Script), [101.0, 270.0, 620.0, 1172.0, 1834.0], 0.1);
    check("KB of images", kilobytes(Kind::Image), [84.0, 322.0, 1054.0, 2822.0, 6526.0], 0.1);
    // Fitted by our parameters.
    let requests = percentiles(pages.iter().map(|page| page.resources.len() as f64));
    check("requests", requests, [23.0, 43.0, 74.0, 120.0, 182.0], 0.09);
    let of_all = |share: &dyn Fn(&Page) -> f64| {
        pages.iter().map(share).sum::<f64>()
            / pages.iter().map(|page| page.resources.len() as f64).sum::<f64>()
    };
    let over_http1 = of_all(&|page| requests_over(page, Version::Http1));
    assert!((over_http1 - 0.15).abs() < 0.01, "{over_http1}");
    let of_home_pages = |version: Version| {
        pages.iter().filter(|page| page.origins[0].version == version).count() as f64 / pages.len() as f64
    };
    let home_pages = [Version::Http1, Version::Http2, Version::Http3].map(of_home_pages);
    for (share, published) in home_pages.into_iter().zip([0.22, 0.71, 0.07]) {
        assert!((share - published).abs() < 0.01, "{home_pages:.3?}");
    }
    let over_http3 = of_all(&|page| requests_over(page, Version::Http3));
    assert!((0.07..0.09).contains(&over_http3), "{over_http3}");
    let mut connections = [0; 3];
    for page in &pages {
        let mut used: Vec<u16> = page.resources.iter().map(|one| one.origin).collect();
        used.sort_unstable();
        used.dedup();
        for origin in used {
            connections[page.origins[usize::from(origin)].version as usize] += 1;
        }
    }
    println!(
        "home pages {home_pages:.3?}, requests over HTTP/1.1 {over_http1:.3} and HTTP/3 {over_http3:.3}, origins {connections:?}"
    );
    // Predicted.
    let weight = percentiles(
        pages.iter().map(|page| page.resources.iter().map(|one| f64::from(one.size)).sum::<f64>() / 1024.0),
    );
    check("page weight", [weight[2]; 5], [2652.0; 5], 0.2);
    let fonts = kilobytes(Kind::Font);
    check("KB of fonts", [fonts[2]; 5], [131.0; 5], 0.1);
    let sizes = |kind: Kind| {
        let all = pages.iter().take(2_000).flat_map(|page| &page.resources);
        percentiles(all.filter(|one| one.kind == kind).map(|one| f64::from(one.size) / 1024.0))
    };
    println!(
        "weight {weight:.0?}, fonts {fonts:.0?}, scripts {:.1?}, images {:.1?}",
        sizes(Kind::Script),
        sizes(Kind::Image)
    );
}

#[test]
fn dependencies_follow_the_kinds() {
    let model = model(&shipped());
    for number in 0..200 {
        let page = page(&model, number);
        assert_eq!((page.resources[0].kind, page.resources[0].origin), (Kind::Html, 0));
        let has_css = page.resources.iter().any(|resource| resource.kind == Kind::Css);
        for (id, resource) in page.resources.iter().enumerate().skip(1) {
            let parent = usize::from(resource.parent);
            assert!(parent < id, "a resource is known after the one that refers to it");
            let parent = page.resources[parent].kind;
            match resource.kind {
                Kind::Css => assert_eq!(parent, Kind::Html),
                Kind::Font => assert_eq!(parent, if has_css { Kind::Css } else { Kind::Html }),
                Kind::Image => assert!(matches!(parent, Kind::Html | Kind::Css | Kind::Script)),
                Kind::Html | Kind::Script | Kind::Other => {
                    assert!(matches!(parent, Kind::Html | Kind::Script));
                }
            }
            assert!(!resource.blocking || resource.parent == DOCUMENT, "what blocks is in the document");
            assert!(usize::from(resource.origin) < page.origins.len());
        }
    }
}

/// The ends of a connection, as bytes in order: written and carried, to the server and to the client.
#[derive(Clone, Debug, Default)]
struct Pipes {
    written: [u32; 2],
    carried: [u32; 2],
    is_open: bool,
    /// Requests and responses on streams of QUIC.
    streams: [Vec<u16>; 2],
    opened: u16,
}

/// A browser on a network that carries what is written in portions, over connections in an order that `order` draws.
struct Network<'a> {
    pages: &'a Pages,
    browser: Browser,
    pipes: BTreeMap<u16, Pipes>,
    order: Stream,
    now: Time,
}

/// The record of a page.
#[derive(Debug, Default)]
struct Seen {
    completed: BTreeMap<(u64, u64), u32>,
    load: Option<PageLoad>,
    opened: Vec<NewConnection>,
}

impl Seen {
    /// The round-trip time to each origin.
    fn round_trips(&self) -> BTreeMap<u64, Duration> {
        self.opened.iter().map(|connection| (connection.number >> 8, connection.min_rtt)).collect()
    }
}

impl Network<'_> {
    fn new(pages: &Pages, order: u64) -> Network<'_> {
        let browser = pages.user(3).0;
        Network { pages, browser, pipes: BTreeMap::new(), order: Stream::numbered(order, 0), now: Time::ZERO }
    }

    /// Load the next page.
    fn load(&mut self) -> Seen {
        let (mut seen, mut out) = (Seen::default(), Vec::new());
        self.pipes.clear();
        self.pages.wake(&mut self.browser, self.now, &mut out);
        self.act(&mut out, &mut seen);
        while seen.load.is_none() {
            self.now += Duration::from_millis(1);
            let slots: Vec<u16> = self.pipes.keys().copied().collect();
            let slot = slots[usize::try_from(self.order.below(slots.len() as u64)).expect("few")];
            let to_client = usize::from(self.order.below(2) == 1);
            let pipes = self.pipes.get_mut(&slot).expect("open");
            let event = if !pipes.is_open {
                pipes.is_open = true;
                BrowserEvent::Opened
            } else if !pipes.streams[to_client].is_empty() {
                let place = self.order.below(pipes.streams[to_client].len() as u64);
                let stream = pipes.streams[to_client].swap_remove(usize::try_from(place).expect("few"));
                [BrowserEvent::RequestComplete(stream), BrowserEvent::ResponseComplete(stream)][to_client]
            } else {
                let left = pipes.written[to_client] - pipes.carried[to_client];
                pipes.carried[to_client] +=
                    u32::try_from(self.order.below(u64::from(left) + 1)).expect("a part");
                let progress = Progress { received: pipes.carried[to_client], sent: pipes.carried[1] };
                let awaited =
                    [self.browser.awaits_at_server(slot), self.browser.awaits_at_client(slot)][to_client];
                if awaited.is_none_or(|awaited| awaited > progress.received) {
                    continue;
                }
                [BrowserEvent::AtServer(progress), BrowserEvent::AtClient(progress)][to_client]
            };
            self.pages.on_event(&mut self.browser, slot, event, self.now, &mut out);
            self.act(&mut out, &mut seen);
        }
        seen
    }

    fn act(&mut self, out: &mut Vec<BrowserAction>, seen: &mut Seen) {
        for action in out.drain(..) {
            match action {
                BrowserAction::Open(connection) => {
                    self.browser.name(connection.slot, ConnectionId(connection.slot.into()));
                    self.pipes.insert(connection.slot, Pipes::default());
                    seen.opened.push(connection);
                }
                BrowserAction::Write(slot, bytes) => {
                    self.pipes.get_mut(&slot).expect("open").written[0] += bytes;
                }
                BrowserAction::Answer(slot, bytes) => {
                    self.pipes.get_mut(&slot).expect("open").written[1] += bytes;
                }
                BrowserAction::Request(slot, ..) => {
                    let pipes = self.pipes.get_mut(&slot).expect("open");
                    pipes.streams[0].push(pipes.opened);
                    pipes.opened += 1;
                }
                BrowserAction::Respond(StreamResponse { slot, stream, .. }) => {
                    self.pipes.get_mut(&slot).expect("open").streams[1].push(stream);
                }
                BrowserAction::Completed(_, Completed { response, connection, .. }, _) => {
                    // The origin is in the number of the connection, without its index.
                    *seen.completed.entry((connection >> 8, response.get())).or_default() += 1;
                }
                BrowserAction::Loaded(load) => seen.load = Some(load),
                BrowserAction::Close(_) | BrowserAction::Sleep(_) => {}
                BrowserAction::Aborted => panic!("nothing breaks"),
            }
        }
    }
}

#[test]
fn pages_do_not_depend_on_the_order_of_the_network() {
    let pages = model(&shipped());
    let (mut one, mut two) = (Network::new(&pages, 1), Network::new(&pages, 2));
    for _ in 0..10 {
        let (first, second) = (one.load(), two.load());
        assert_eq!(first.completed, second.completed);
        assert_eq!(first.round_trips(), second.round_trips());
        let (first, second) = (first.load.expect("loaded"), second.load.expect("loaded"));
        assert_eq!((first.requests, first.bytes), (second.requests, second.bytes));
        assert_ne!(first.duration, second.duration);
        assert!(first.first_render <= first.duration);
    }
}

#[test]
fn an_origin_has_one_connection_or_up_to_six() {
    for (http1, http3, most) in [(0.0, 0.0, 1), (0.0, 1.0, 1), (1.0, 0.0, MOST_CONNECTIONS)] {
        let mut config = shipped();
        (config.http1_own_origin.share, config.http1_other_origins.share) = (http1, http1);
        config.http3.as_mut().expect("shipped").origins.share = http3;
        let pages = model(&config);
        let mut network = Network::new(&pages, 1);
        let mut largest = 0;
        for _ in 0..10 {
            let seen = network.load();
            let mut by_origin: BTreeMap<u64, usize> = BTreeMap::new();
            for connection in seen.opened {
                *by_origin.entry(connection.number >> 8).or_default() += 1;
            }
            largest = largest.max(by_origin.into_values().max().expect("at least one"));
        }
        assert_eq!(largest, most);
    }
}

#[test]
fn a_share_of_http3_moves_no_other_draw() {
    let with = |share: f64| {
        let mut config = shipped();
        config.http3.as_mut().expect("shipped").origins.share = share;
        model(&config)
    };
    let [none, some, all] = [0.0, 0.3, 1.0].map(with);
    for number in 0..100 {
        let pages = [&none, &some, &all].map(|model| page(model, number));
        for (place, origin) in pages[0].origins.iter().enumerate() {
            let [_, some, all] = [0, 1, 2].map(|of| pages[of].origins[place]);
            let newest = if origin.version == Version::Http1 { Version::Http1 } else { Version::Http3 };
            assert_ne!(origin.version, Version::Http3);
            assert_eq!(all, Origin { version: newest, ..*origin });
            assert!([*origin, all].contains(&some));
        }
        assert!(pages.iter().all(|page| page.resources == pages[0].resources));
    }
}

#[test]
fn an_unsafe_request_waits_for_the_handshake() {
    let mut config = shipped();
    (config.http1_own_origin.share, config.http1_other_origins.share) = (0.0, 0.0);
    config.http3.as_mut().expect("shipped").origins.share = 1.0;
    config.resumed_connections.share = 1.0;
    let pages = model(&config);
    let mut network = Network::new(&pages, 1);
    let mut forms = BTreeMap::new();
    for _ in 0..50 {
        for connection in network.load().opened {
            let origin = (connection.number >> 8) % (1 << 16);
            *forms.entry((origin == 0, format!("{:?}", connection.quic.expect("over QUIC")))).or_insert(0) +=
                1;
        }
    }
    // Documents are safe; of the first requests to another origin some are calls.
    assert_eq!(forms[&(true, "ZeroRtt".to_owned())], 50);
    assert!(forms[&(false, "Resumed".to_owned())] > 10 && forms[&(false, "ZeroRtt".to_owned())] > 100);
    assert_eq!(forms.len(), 3);
}

#[test]
fn a_page_ends_without_what_a_broken_connection_carried() {
    let pages = model(&shipped());
    let mut browser = pages.user(3).0;
    let mut out = Vec::new();
    pages.wake(&mut browser, Time::ZERO, &mut out);
    let [BrowserAction::Open(NewConnection { slot, .. })] = out[..] else { panic!("{out:?}") };
    out.clear();
    pages.on_event(&mut browser, slot, BrowserEvent::Closed, Time::ZERO + Duration::from_secs(9), &mut out);
    let [
        BrowserAction::Aborted,
        BrowserAction::Close(names),
        BrowserAction::Loaded(load),
        BrowserAction::Sleep(_),
    ] = &out[..]
    else {
        panic!("{out:?}")
    };
    assert!(names.is_empty() && !load.is_complete);
}

#[test]
fn mistakes_are_refused_with_their_place() {
    let refusal = |spoil: fn(&mut PagesConfig)| {
        let mut config = shipped();
        spoil(&mut config);
        config.check().expect_err("a mistake").to_string()
    };
    for (spoil, why) in [
        (
            (|c| c.other_origins.share = 1.5) as fn(&mut PagesConfig),
            "other_origins.share: must be between 0 and 1, got 1.5",
        ),
        (
            |c| c.http3.as_mut().expect("shipped").origins.share = -1.0,
            "http3.origins.share: must be between 0 and 1, got -1",
        ),
        (|c| c.tls.client_hello = 0, "tls.client_hello: must be between 1 and 100000 bytes, got 0"),
        (
            |c| c.resources.css.per_page.nodes[1][1] = 5_000.0,
            "resources.css.per_page.nodes[1]: value must be above 0 and at most 1000, got 5000",
        ),
        (
            |c| c.images_by_scripts.share = 0.95,
            "images_by_css.share + images_by_scripts.share: must be between 0 and 1, got 1.05",
        ),
    ] {
        assert_eq!(refusal(spoil), why);
    }
    let error = WorkloadConfig::shipped("web-2099").expect_err("unknown").to_string();
    assert_eq!(error, "web: unknown `web-2099`: choose unc-2001, unc-2001-v3, web-2024");
}
