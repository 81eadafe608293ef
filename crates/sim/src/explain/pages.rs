//! Pages: one wait over several connections, and the path of resources that leads to its end.
//!
//! A browser knows a resource when the resource that refers to it is complete, and a page ends with its last resource. So the
//! times of the last resource, of the one that refers to it, and so on up to the document add up to the page load time.

use aqmlab_units::Time;
use aqmlab_workload::pages::{Fetched, PageLoad};

use super::attribution::{Attribution, Epoch, Parts};
use super::{Explainer, Incidents};
use crate::engine::UserId;
use crate::packet::EndpointId;
use crate::record::Tables;

/// The page that a user loads.
#[derive(Clone, Debug, Default)]
pub(super) struct PageTrace {
    pub(super) epoch: Epoch,
    /// The event that its browser is at, or was at last.
    pub(super) now: Attribution,
    pub(super) incidents: Incidents,
    /// Connections opened so far, and the one of the last event.
    connections: u16,
    current_connection: u16,
    /// Resources that have come, in the order of their ends.
    resources: Vec<ResourceTrace>,
}

/// A resource that has come.
#[derive(Clone, Debug)]
pub(super) struct ResourceTrace {
    pub(super) fetched: Fetched,
    /// The number of its connection.
    pub(super) connection: u16,
    /// Since the browser knew of it.
    pub(super) parts: Parts,
    pub(super) complete: Time,
    /// It is one of those whose times add up to the page load time.
    pub(super) is_on_path: bool,
}

impl<I> Explainer<I> {
    /// `user` begins a page.
    pub(super) fn begin_page(&mut self, user: UserId, now: Time) {
        if self.pages.len() <= user.index() {
            self.pages.resize(user.index() + 1, PageTrace::default());
        }
        let page = &mut self.pages[user.index()];
        page.epoch = Epoch { number: page.epoch.number + 1, start: now };
        page.now = Attribution::nothing(page.epoch);
        page.incidents.clear();
        page.connections = 0;
        page.resources.clear();
    }

    /// The browser of `user` has opened a connection.
    pub(super) fn join_page(&mut self, client: EndpointId, user: UserId) {
        let page = &mut self.pages[user.index()];
        let connection = &mut self.connections[client.connection()];
        connection.number = page.connections;
        connection.epoch = page.epoch;
        page.connections += 1;
        self.ends[client.index()].now = page.now.clone();
    }

    /// The browser of `user` gets `event` at `id`.
    pub(super) fn reach_browser(&mut self, user: UserId, id: EndpointId, event: Attribution) {
        let page = &mut self.pages[user.index()];
        if !event.is_of(page.epoch) {
            return;
        }
        page.now = event;
        page.current_connection = self.connections[id.connection()].number;
    }

    /// A resource of the page of `user` has come.
    pub(super) fn add_resource(&mut self, user: UserId, fetched: &Fetched) {
        let page = &mut self.pages[user.index()];
        page.resources.push(ResourceTrace {
            fetched: *fetched,
            connection: page.current_connection,
            parts: page.now.parts_since(fetched.known),
            complete: page.now.at(),
            is_on_path: false,
        });
    }

    /// The page of `user` has ended, and counts.
    pub(super) fn end_page(&mut self, user: UserId, load: &PageLoad, tables: &mut Tables) {
        let page = &mut self.pages[user.index()];
        let parts = page.now.parts();
        assert_eq!(parts.sum(), load.duration, "a part of a page load time has no cause");
        page.mark_path();
        let number = self.timelines.completed(load.duration, &page.incidents.events, &mut tables.timelines);
        tables.explained_pages.push(user, load, page, &parts);
        if let Some(number) = number {
            for resource in &page.resources {
                tables.resources.push(number, page.epoch.start, resource);
            }
        }
    }
}

impl PageTrace {
    /// Marks the resources whose times add up to the page load time, from the last one back to the document.
    fn mark_path(&mut self) {
        let mut last = self.resources.len().checked_sub(1);
        while let Some(place) = last {
            self.resources[place].is_on_path = true;
            let Fetched { resource, parent, .. } = self.resources[place].fetched;
            let is_document = resource == parent;
            let find = || self.resources.iter().position(|one| one.fetched.resource == parent);
            last = if is_document { None } else { find() };
        }
    }

    pub(super) fn connections(&self) -> u16 {
        self.connections
    }

    pub(super) fn path(&self) -> impl Iterator<Item = &ResourceTrace> {
        self.resources.iter().filter(|resource| resource.is_on_path)
    }
}
