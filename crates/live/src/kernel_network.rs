//! A network in the process of a kernel in virtual time: the functions that the kernel calls.
//!
//! The kernel passes it the packets that its devices send and the messages of the guest's program, and asks for packets that have
//! arrived. Times are nanoseconds of the kernel's clock. No call blocks, and none starts a thread.

use std::fs;

use serde_json::Value;

use crate::engine::Engine;
use crate::error::{Context, Error};
use crate::oracle::Oracle;
use crate::run::output;

/// The devices of the two sides come first.
pub(crate) const SIDES: usize = 2;

/// A network between the devices of a kernel.
pub trait KernelNetwork {
    /// Returns the number of the network's devices: those of the sides, and one for each queue in the kernel.
    fn ports(&self) -> usize;

    /// Returns the bytes before the IP header of the packets of `port`, which its queue discipline counts.
    fn header(&self, port: usize) -> usize;

    /// Takes a packet that the device of `port` sends; `number` is that of [`KernelNetwork::receive`] if the port is a queue in the
    /// kernel. Returns the time until which the queue's line is busy.
    fn send(&mut self, port: usize, now: u64, number: u32, packet: &[u8]) -> Option<u64>;

    /// Takes the news that the queue of `port`, which is in the kernel, has dropped packet `number`.
    fn drop(&mut self, port: usize, now: u64, number: u32);

    /// Returns the time of the next event, if there is one.
    fn next_event(&self) -> Option<u64>;

    /// Writes the next packet that has arrived by `now` to `packet`. Returns its port, its number and its length.
    fn receive(&mut self, now: u64, packet: &mut [u8]) -> Option<(usize, u32, usize)>;

    /// Handles the messages of the guest's program.
    ///
    /// # Panics
    ///
    /// For messages of another build.
    fn control(&mut self, at: u64, messages: &[u8]);

    /// Writes the results, after the kernel has stopped.
    fn finish(&mut self);
}

/// Returns the network that the request in the file at `path` asks for.
///
/// # Errors
///
/// One line that says why the run is impossible; it has been written to standard output as well.
pub fn open(path: &str) -> Result<Box<dyn KernelNetwork>, String> {
    read(path).map_err(|error| {
        output::error(&error);
        error.to_string()
    })
}

fn read(path: &str) -> Result<Box<dyn KernelNetwork>, Error> {
    let text = fs::read_to_string(path).context(|| path.to_owned())?;
    Ok(match oracle_of(&text) {
        Some(request) => Box::new(Oracle::new(&request)?),
        None => Box::new(Engine::new(&text)?),
    })
}

/// Returns the part of a request that asks for a comparison of laws, if it is such a request.
pub(crate) fn oracle_of(text: &str) -> Option<Value> {
    let mut request: Value = serde_json::from_str(text).ok()?;
    request.get_mut("oracle").map(Value::take)
}
