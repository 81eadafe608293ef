//! Notes of a cursor about a connection of PackMime-HTTP.

/// Notes about a connection: the size of its requests, the class of its first response, and how many objects
/// and pages are still to come.
#[derive(Clone, Copy)]
pub(super) struct Note {
    pub(super) request: u32,
    pub(super) body: bool,
    pub(super) persistent: bool,
    pub(super) one_page: bool,
    pub(super) objects_left: u8,
    pub(super) pages_left: u8,
}

impl Note {
    pub(super) fn from_state(state: u64) -> Note {
        let [a, b, c, d, flags, objects_left, pages_left, _] = state.to_le_bytes();
        Note {
            request: u32::from_le_bytes([a, b, c, d]),
            body: flags & 1 != 0,
            persistent: flags & 2 != 0,
            one_page: flags & 4 != 0,
            objects_left,
            pages_left,
        }
    }

    pub(super) fn state(self) -> u64 {
        let [a, b, c, d] = self.request.to_le_bytes();
        let flags = u8::from(self.body) | u8::from(self.persistent) << 1 | u8::from(self.one_page) << 2;
        u64::from_le_bytes([a, b, c, d, flags, self.objects_left, self.pages_left, 0])
    }
}
