//! The two sides of the network and the two directions between them, which are not the same thing.

/// A side of the peering link: 0 or 1. Users and servers are on one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Side(bool);

/// A direction of the peering link: 0 leads from side 0 to side 1, and in a chain towards routers of higher numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Direction(bool);

impl Side {
    pub(crate) const BOTH: [Side; 2] = [Side(false), Side(true)];

    /// That of the number 0 or 1.
    #[inline]
    pub(crate) fn numbered(number: u8) -> Side {
        Side(number == 1)
    }

    #[inline]
    pub(crate) fn number(self) -> u8 {
        u8::from(self.0)
    }

    /// The place of what there is one of for each side.
    #[inline]
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The other one.
    pub(crate) fn other(self) -> Side {
        Side(!self.0)
    }
}

impl Direction {
    pub(crate) const FORWARD: Direction = Direction(false);
    pub(crate) const REVERSE: Direction = Direction(true);
    pub(crate) const BOTH: [Direction; 2] = [Direction::FORWARD, Direction::REVERSE];

    /// In which what hosts on `side` send crosses the link.
    #[inline]
    pub(crate) fn from_side(side: Side) -> Direction {
        Direction(side.0)
    }

    #[inline]
    pub(crate) fn number(self) -> u8 {
        u8::from(self.0)
    }

    /// The place of what there is one of for each direction.
    #[inline]
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}
