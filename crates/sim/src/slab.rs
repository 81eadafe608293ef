//! A slab: values under reusable numbers, mostly packets and their records.

/// Things under numbers, which are used again.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    kept: Vec<T>,
    free: Vec<usize>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { kept: Vec::new(), free: Vec::new() }
    }
}

impl<T: Clone> Slab<T> {
    /// Keep it, under the number given.
    pub(crate) fn put(&mut self, thing: T) -> usize {
        if let Some(number) = self.free.pop() {
            self.kept[number] = thing;
            number
        } else {
            self.kept.push(thing);
            self.kept.len() - 1
        }
    }

    /// Returns the value under `number`, to be changed.
    pub(crate) fn get_mut(&mut self, number: usize) -> &mut T {
        &mut self.kept[number]
    }

    /// Returns the largest number of values at a time so far.
    #[cfg(test)]
    pub(crate) fn most(&self) -> usize {
        self.kept.len()
    }

    /// Takes the value under `number`, which is free again.
    pub(crate) fn take(&mut self, number: usize) -> T {
        self.free.push(number);
        self.kept[number].clone()
    }
}
